"""A look at one's own files names the task that they are for, and shows what was understood."""

import json

import pytest
from PIL import Image

import glasshouse
from glasshouse.data import data_look, prepared_data
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec
from tests.data.user_files.labelled_rows import labelled_rows

ROWS = [(label, f"{text} {index}") for index, (label, text) in enumerate(labelled_rows(60))]
FILES = {
    "next-token": ("a.txt", "A line of text.\n" * 50),
    "classify": ("b.csv", "kind,words\n" + "".join(f"{label},{text}\n" for label, text in ROWS)),
    "regress": ("c.tsv", "".join(f"{text}\t{index * 1.7:.2f}\n" for index, (_, text) in enumerate(ROWS))),
    "translate": ("d.tsv", "".join(f"{text} here\t{text} hier\n" for _, text in ROWS)),
    "multi-label": ("e.jsonl", "".join(json.dumps({"text": b, "labels": [a, "x"]}) + "\n" for a, b in ROWS)),
    "tag": ("f.conll", "Ann B-PER\nlives O\n\nRome B-LOC\nlives O\n\n" * 9),
}


@pytest.mark.parametrize("task", FILES)
def test_the_task_is_found_by_the_columns(tmp_path, task):
    name, content = FILES[task]
    (tmp_path / name).write_text(content)
    assert data_look.suggest_task(DataSpec(files=(str(tmp_path / name),))) == task


def test_one_odd_value_does_not_change_the_task(tmp_path):
    numbers = [f"{text}\t{'n/a' if index == 7 else index * 1.7}\n" for index, (_, text) in enumerate(ROWS)]
    (tmp_path / "a.tsv").write_text("".join(numbers))
    assert data_look.suggest_task(DataSpec(files=(str(tmp_path / "a.tsv"),))) == "regress"
    found = glasshouse.data.look_at_data([str(tmp_path / "a.tsv")], cost=False, device="cpu")
    assert found.refusal is not None
    assert isinstance(found.refusal, DataError)
    assert [column.empty for column in found.look.columns] == [0, 1]
    labels = [f"{text}\t{'a, b' if index == 7 else 'ab'[index % 2]}\n" for index, (_, text) in enumerate(ROWS)]
    (tmp_path / "b.tsv").write_text("".join(labels))
    assert data_look.suggest_task(DataSpec(files=(str(tmp_path / "b.tsv"),))) == "classify"


def test_the_number_of_the_row_is_no_target_and_two_possible_labels_are_asked_about(tmp_path):
    rows = [f"{index},{'ab'[index % 2]},{label},{text} and more\n" for index, (label, text) in enumerate(ROWS)]
    (tmp_path / "g.csv").write_text("Nr,part,kind,words\n" + "".join(rows))
    assert data_look.suggest_task(DataSpec(files=(str(tmp_path / "g.csv"),))) == "classify"


def test_a_first_line_with_a_column_that_the_user_names_is_a_header(tmp_path):
    (tmp_path / "h.tsv").write_text("msgid\tmsgstr\n" + "".join(f"{text} here\t{text} hier\n" for _, text in ROWS))
    data = DataSpec(files=(str(tmp_path / "h.tsv"),), field="msgid", target="msgstr")
    assert data_look.suggest_task(data) == "translate"
    source = prepared_data.find_source(data, ("target",))
    texts = [document.text for split in ("train", "validation", "test") for document in source.documents(split)]
    assert len(texts) == len(ROWS)
    assert "msgid" not in texts


def test_folders_are_for_classes_or_pictures(tmp_path):
    for label in ("good", "bad"):
        (tmp_path / "texts" / label).mkdir(parents=True)
        (tmp_path / "texts" / label / "1.txt").write_text("a text")
        (tmp_path / "pictures" / label).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "pictures" / label / "1.png")
    assert data_look.suggest_task(DataSpec(files=(str(tmp_path / "texts"),))) == "classify"
    assert data_look.suggest_task(DataSpec(files=(str(tmp_path / "pictures"),))) == "match"


def test_a_look_shows_columns_classes_lengths_repeats_and_splits(tmp_path):
    rows = ROWS + ROWS[:5]
    (tmp_path / "b.csv").write_text("kind,words\n" + "".join(f"{label},{text}\n" for label, text in rows))
    found = glasshouse.data.look_at_data([str(tmp_path / "b.csv")], cost=False)
    assert found.recipe == "classifier"
    assert [(column.name, column.kind) for column in found.look.columns] == [("kind", "category"), ("words", "text")]
    assert dict(found.look.classes) == {label: [a for a, _ in rows].count(label) for label in ("fruit", "tool", "bird")}
    assert found.look.repeated == 5
    assert [split.name for split in found.look.splits for _ in range(split.documents)].count("train") > 30
    assert found.look.words[1.0] == max(len(text.split()) for _, text in rows)
    assert len(found.look.examples) == data_look.EXAMPLES
    assert any(note.startswith("training.epochs=") for note in found.notes)


def test_what_a_recipe_refuses_is_shown_with_the_reason(tmp_path):
    (tmp_path / "one.tsv").write_text("".join(f"same\ttext number {index}\n" for index in range(30)))
    found = glasshouse.data.look_at_data([str(tmp_path / "one.tsv")], recipe="classifier", cost=False)
    assert isinstance(found.refusal, DataError)
    assert found.look.classes == (("same", 30),)


@pytest.mark.parametrize("label", ["label", "sentiment"])
def test_a_single_class_is_not_taken_for_anything_else(tmp_path, label):
    (tmp_path / "one.csv").write_text(f"text,{label}\n" + "".join(f"text number {index},same\n" for index in range(30)))
    found = glasshouse.data.look_at_data([str(tmp_path / "one.csv")], cost=False, device="cpu")
    assert found.recipe == "classifier"
    assert isinstance(found.refusal, DataError)
    assert "same" in str(found.refusal)


@pytest.mark.parametrize("header", ["image,caption\n", "file_name,text\n", "picture,caption\n", "foo,bar\n", ""])
def test_a_column_of_picture_names_is_no_text(tmp_path, header):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    lines = [f"a.png,a caption of {index} words\n" for index in range(30)]
    (tmp_path / "captions.csv").write_text(header + "".join(lines))
    data = DataSpec(files=(str(tmp_path / "captions.csv"),), picture_size=8, validation=0.0, test=0.0)
    assert data_look.suggest_task(data) == "match"
    source = prepared_data.find_source(data, ("picture",))
    assert next(document.text for document in source.documents("train")).startswith("a caption")
    assert not any(note.endswith("otherwise set ") for note in source.notes())
    if header.startswith("foo"):
        assert any("name the columns picture and caption" in note for note in source.notes())


def test_texts_with_classes_and_pictures_are_classified(tmp_path):
    rows = [f"{index}.jpg,{label},{text}\n" for index, (label, text) in enumerate(ROWS)]
    (tmp_path / "a.csv").write_text("image,kind,words\n" + "".join(rows))
    assert data_look.suggest_task(DataSpec(files=(str(tmp_path / "a.csv"),))) == "classify"


@pytest.mark.parametrize("count", [data_look.SAMPLE_ROWS, data_look.SAMPLE_ROWS + 1])
def test_a_look_says_whether_all_rows_of_a_column_were_counted(tmp_path, count):
    (tmp_path / "a.csv").write_text("text,more\n" + "".join(f"text {index},word {index}\n" for index in range(count)))
    look = data_look.look_at_columns(DataSpec(files=(str(tmp_path / "a.csv"),)))
    assert [column.values for column in look.columns] == [data_look.SAMPLE_ROWS] * 2
    assert all(column.sampled == (count > data_look.SAMPLE_ROWS) for column in look.columns)


def test_scripts_are_those_of_the_letters():
    assert data_look.scripts(["abc déjà", "привет", "123"]) == (("Latin", 7 / 13), ("Cyrillic", 6 / 13))
