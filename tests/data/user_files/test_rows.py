"""The user's rows: every file format gives the same rows, columns are found, accidents are refused, splits stay apart."""

import gzip
import json

import pytest

from glasshouse.data.documents import SPLITS
from glasshouse.data.tables import class_labels, columns, reading
from glasshouse.data.user_files.rows import UserRows
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec
from tests.data.user_files.labelled_rows import labelled_rows
from tests.refusals import refused


def rows_of(*paths, wanted=("label",), validation=0.2, test=0.2, **settings):
    return UserRows(DataSpec(files=tuple(map(str, paths)), validation=validation, test=test, **settings), wanted)


def read(source, field="label"):
    return [(document.fields[field], document.text) for split in SPLITS for document in source.documents(split)]


def write_parquet(path, rows):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"kind": [label for label, _ in rows], "words": [text for _, text in rows]}), path)


def write_arrow(path, rows):
    """As Hugging Face `datasets` writes it: classes are numbers, and their names are in the metadata."""
    pyarrow = pytest.importorskip("pyarrow")
    names = sorted({label for label, _ in rows})
    features = {"kind": {"names": names, "_type": "ClassLabel"}, "words": {"dtype": "string", "_type": "Value"}}
    schema = pyarrow.schema(
        [("kind", pyarrow.int64()), ("words", pyarrow.string())],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    table = pyarrow.table([[names.index(label) for label, _ in rows], [text for _, text in rows]], schema=schema)
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_stream(file, schema) as writer:
        writer.write_table(table)


def zstandard_of(text):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(text.encode())


def test_every_file_format_gives_the_same_rows(tmp_path):
    rows = labelled_rows(40)
    objects = [{"kind": label, "words": text} for label, text in rows]
    tabs = "".join(f"{label}\t{text}\r\n" for label, text in rows)
    contents = {
        "a.tsv": tabs,
        "b.csv": "kind,words\n" + "".join(f'{label},"{text}"\n' for label, text in rows),
        "c.csv": "id;words;kind\n" + "".join(f"{i};{text};{label}\n" for i, (label, text) in enumerate(rows)),
        "d.jsonl": "".join(json.dumps(row) + "\n" for row in objects),
        "e.json": json.dumps(objects),
        "f.json": json.dumps({"rows": objects}),
        "g.tsv": "kind\twords\n" + tabs,
        "h.CSV": "".join(f"{label}|{text}\n" for label, text in rows),
        "i.tsv.gz": gzip.compress(tabs.encode()),
        "j.tsv.zst": zstandard_of(tabs),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    write_parquet(tmp_path / "k.parquet", rows)
    write_arrow(tmp_path / "l.arrow", rows)
    (tmp_path / "m").mkdir()
    for index, (label, text) in enumerate(rows):
        (tmp_path / "m" / label).mkdir(exist_ok=True)
        (tmp_path / "m" / label / f"{index}.txt").write_text(text + "\n")
    found = {}
    for path in sorted(tmp_path.iterdir()):
        names = {"header": "yes"} if path.name == "g.tsv" else {}
        found[path.name] = sorted(read(rows_of(path, field="words", label="kind", **names)))
    for name, content in found.items():
        assert content == sorted(rows), name


def test_the_usual_files_give_the_rows_in_order(tmp_path):
    rows = labelled_rows(40)
    (tmp_path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    source = rows_of(tmp_path / "a.tsv", validation=0.0, test=0.0)
    assert [(document.fields["label"], document.text) for document in source.documents("train")] == rows
    assert not any("column" in note or "header" in note for note in source.notes())


@pytest.mark.parametrize(
    ("name", "line", "first"),
    [
        ("a.tsv", "{text}\t{label}\n", ""),
        ("b.tsv", "{label}\t{text}\n", "label\ttext\n"),
        ("c.tsv", "{text}\t{label}\n", "Review\tSentiment\n"),
        ("d.csv", "{id},{text},{label}\n", "id,sentence,category\n"),
        ("e.csv", "{text},{label}\n", ""),
        ("f.csv", "{label},{text}\n", "Klasse,Satz\n"),
        ("g.tsv", "{id}\t{text}\t{label}\n", ""),
    ],
)
def test_columns_and_headers_are_found_by_name_and_content_and_said(tmp_path, name, line, first):
    rows = [(label, f"{text} {index}") for index, (label, text) in enumerate(labelled_rows(60))]
    lines = "".join(line.format(label=label, text=text, id=index) for index, (label, text) in enumerate(rows))
    (tmp_path / name).write_text(first + lines)
    source = rows_of(tmp_path / name)
    assert sorted(read(source)) == sorted(rows)
    assert any(word in " ".join(source.notes()) for word in ("by the look of it", "taken for a header"))


def test_columns_are_chosen_by_number(tmp_path):
    (tmp_path / "a.tsv").write_text(
        "".join(f"{text} {i}\tx\t{label}\n" for i, (label, text) in enumerate(labelled_rows(30)))
    )
    source = rows_of(tmp_path / "a.tsv", field="1", label="3")
    assert {label for label, _ in read(source)} == {"fruit", "tool", "bird"}
    with refused(DataError, "data.label=NAME"):
        read(rows_of(tmp_path / "a.tsv", field="1", label="4"))


def test_a_text_is_in_one_split_and_unusual_rows_are_noted(tmp_path):
    path = tmp_path / "odd.tsv"
    rows = "".join(f"{label}\t{text}\n" for label, text in labelled_rows(60))
    path.write_text(rows * 2 + "fruit\t\n\ttext\nfruit\tx\nbird\tx\n")
    source = rows_of(path)
    split_by_text: dict = {}
    for split in SPLITS:
        for document in source.documents(split):
            assert split_by_text.setdefault(document.text, split) == split
    notes = " ".join(source.notes())
    for words in ("2 of 124 rows", "repeat a text", "more than one label"):
        assert words in notes


def test_labels_that_differ_only_in_case_are_one_class_unless_the_user_insists(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "positive,good {0}\nPOSITIVE,fine {0}\nnegative,bad {0}\n" * 1)
    path.write_text(
        "label,text\n" + "".join(f"{('positive', 'Positive ', 'negative')[i % 3]},text {i}\n" for i in range(30))
    )
    source = rows_of(path)
    assert {label for label, _ in read(source)} == {"positive", "negative"}
    assert "one class" in " ".join(source.notes())
    assert {label for label, _ in read(rows_of(path, insist=True))} == {"positive", "Positive", "negative"}


def test_labels_that_are_mostly_different_are_refused_unless_the_user_insists(tmp_path):
    pairs = "".join(f"the number {i} is here\tdie Zahl {i} ist hier\n" for i in range(200))
    (tmp_path / "pairs.tsv").write_text(pairs)
    with refused(DataError, "translator", "data.insist=true"):
        read(rows_of(tmp_path / "pairs.tsv"))
    assert len(read(rows_of(tmp_path / "pairs.tsv", insist=True))) == 200
    (tmp_path / "numbers.csv").write_text("label,text\n" + "".join(f"{i / 7:.3f},text {i}\n" for i in range(100)))
    with refused(DataError, "regressor"):
        read(rows_of(tmp_path / "numbers.csv"))


def test_a_label_of_the_first_line_alone_may_be_a_header(tmp_path):
    (tmp_path / "a.tsv").write_text("Klasse\tSatz\n" + "".join(f"{a}\t{b}\n" for a, b in labelled_rows(40)))
    assert any("data.header=yes" in note for note in rows_of(tmp_path / "a.tsv").notes())
    assert len(read(rows_of(tmp_path / "a.tsv", header="yes"))) == 40


def test_files_of_a_split_belong_to_it_and_the_rest_is_divided(tmp_path):
    rows = labelled_rows(60)
    for name, part in (("train.tsv", rows[:40]), ("test.tsv", rows[40:])):
        (tmp_path / name).write_text("".join(f"{label}\t{text} {name}\n" for label, text in part))
    source = rows_of(tmp_path / "train.tsv", test_files=(str(tmp_path / "test.tsv"),))
    counts = {split: len(list(source.documents(split))) for split in SPLITS}
    assert counts["test"] == 20
    assert 0 < counts["validation"] < 15
    assert counts["train"] + counts["validation"] == 40
    folder = rows_of(tmp_path)
    assert [d.text for d in folder.documents("test")] == [d.text for d in source.documents("test")]
    assert "files for each split" in " ".join(folder.notes())
    assert folder.fingerprint() != rows_of(tmp_path / "train.tsv", tmp_path / "test.tsv").fingerprint()


def test_groups_stay_together_and_shares_are_shares_of_rows(tmp_path):
    lines = "".join(f"{i % 2},text {i},writer {i % 17}\n" for i in range(340))
    (tmp_path / "a.csv").write_text("label,text,writer\n" + lines)
    source = rows_of(tmp_path / "a.csv", group="writer")
    writers = {split: {int(d.text.split()[1]) % 17 for d in source.documents(split)} for split in SPLITS}
    assert not writers["train"] & writers["validation"]
    assert not writers["train"] & writers["test"]
    assert not writers["validation"] & writers["test"]
    for split in SPLITS[1:]:
        assert 40 <= len(list(source.documents(split))) <= 100


def test_stratified_splits_have_every_class(tmp_path):
    lines = "".join(f"{'rare' if i % 20 == 0 else 'common'}\ttext {i}\n" for i in range(200))
    (tmp_path / "a.tsv").write_text(lines)
    source = rows_of(tmp_path / "a.tsv", stratify=True)
    for split, count in (("train", 6), ("validation", 2), ("test", 2)):
        assert [d.fields["label"] for d in source.documents(split)].count("rare") == count


def test_several_labels_numbers_pairs_and_tags_become_fields(tmp_path):
    rows = [{"text": f"a text {i}", "labels": ["x", "y"][: i % 3], "score": i / 2, "other": f"other {i}"} for i in range(20)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    several = rows_of(tmp_path / "a.jsonl", wanted=("labels",), label="labels")
    assert {document.fields["labels"] for document in several.documents("train")} == {"", "x", "x|y"}
    numbers = rows_of(tmp_path / "a.jsonl", wanted=("value",), label="score", second="other")
    document = next(numbers.documents("train"))
    assert float(document.fields["value"]) == int(document.text.split()[2]) / 2
    assert document.fields["second"] == f"other {document.text.split()[2]}"
    (tmp_path / "b.conll").write_text("-DOCSTART- O\n\n" + "Ann B-PER\nlives O\nhere O\n\nIn O\nRome B-LOC\n\n" * 5)
    tagged = rows_of(tmp_path / "b.conll", wanted=("tags",), validation=0.0, test=0.0)
    assert [(d.text, d.fields["tags"]) for d in tagged.documents("train")][:2] == [
        ("Ann lives here", "B-PER O O"),
        ("In Rome", "O B-LOC"),
    ]


def translations(*paths, **settings):
    """{text: translation} of all rows; nothing is held out."""
    source = rows_of(*paths, wanted=("target",), validation=0.0, test=0.0, **settings)
    return {document.text: document.fields["target"] for document in source.documents("train")}


def test_two_files_are_paired_line_by_line(tmp_path):
    files = tmp_path / "a.txt", tmp_path / "b.txt"
    files[0].write_text("one\ntwo\nthree\nfour\n")
    files[1].write_text("eins\nzwei\ndrei\nvier\n")
    assert translations(*files) == {"one": "eins", "two": "zwei", "three": "drei", "four": "vier"}
    files[1].write_text("eins\nzwei\n")
    with refused(DataError):
        translations(*files)


def test_line_breaks_stay_in_a_field_and_rows_without_a_target_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text('text,target\n"one\ntwo",x\nthree,y\n')
    assert translations(tmp_path / "a.csv") == {"one\ntwo": "x", "three": "y"}
    (tmp_path / "b.jsonl").write_text('{"text": "one", "target": null}\n{"text": "two", "target": "b"}\n')
    assert translations(tmp_path / "b.jsonl") == {"two": "b"}
    (tmp_path / "c.tsv").write_text("english\tgerman\none\teins\ntwo\tzwei\n")
    assert translations(tmp_path / "c.tsv") == {"one": "eins", "two": "zwei"}


def test_targets_that_look_like_classes_are_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"text {i}\t{('good', 'bad')[i % 2]}\n" for i in range(300)))
    with refused(DataError, "classifier"):
        translations(tmp_path / "a.tsv")
    assert len(translations(tmp_path / "a.tsv", insist=True)) == 300


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("a.tsv", "no tab here\n", (DataError,)),
        ("a.tsv", "label\ttext\nno tab here\n", (DataError, "line 2")),
        ("a.csv", "x,y\n1,2\n", (DataError,)),
        ("a.csv", "text,y\n1,2\n", (DataError, "data.label=NAME")),
        ("a.csv", "text,label\none,two,three\n", (DataError, "line 2")),
        (
            "a.csv",
            "text,a,b\n" + "one text,x,y\nother text,z,y\n" * 9 + "third one,x,w\n",
            (DataError, "data.label"),
        ),
        ("a.jsonl", '{"text": "a"}\n', (DataError, "data.label=NAME")),
        ("a.jsonl", "nonsense\n", (GlasshouseError,)),
        ("a.json", "[1, 2]", (DataError,)),
        ("a.txt", "fruit\tapple\n", (DataError,)),
        ("a.tsv", "\t\n", (DataError,)),
        ("a.parquet", "nonsense", (DataError,)),
        ("a.csv", "text,label\n" + "a" * 200_000 + ",x\n", (DataError,)),
        ("empty/a.xyz", "text", (DataError,)),
    ],
)
def test_a_bad_file_is_refused(tmp_path, name, content, refusal):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    with refused(*refusal):
        read(rows_of(path.parent if "/" in name else path))


def test_a_pattern_that_matches_nothing_is_refused(tmp_path):
    with refused(DataError):
        read(rows_of(tmp_path / "*.tsv"))
    (tmp_path / "one.tsv").write_text("a\tone\nb\ttwo\na\tthree\nb\tfour\n")
    assert len(read(rows_of(tmp_path / "*.tsv"))) == 4


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("a.tsv", "one two\n", (DataError,)),
        ("a.csv", "x,y\n1,2\n", (DataError,)),
        ("a.jsonl", '{"text": "a"}\n', (DataError, "data.target=NAME")),
        ("a.txt", "one\n", (DataError,)),
        ("a.tsv", "one\t\n\ttwo\n", (DataError,)),
    ],
    ids=["no tab", "no columns", "no target", "plain text", "no rows"],
)
def test_a_bad_file_of_pairs_is_refused(tmp_path, name, content, refusal):
    (tmp_path / name).write_text(content)
    with refused(*refusal):
        translations(tmp_path / name)


def test_tabs_within_an_unquoted_text_stay_in_it_wherever_its_column_is(tmp_path):
    for name, line in (("a.tsv", "{label}\t{text}\n"), ("b.tsv", "{text}\t{label}\n")):
        rows = [("ab"[i % 2], f"a text with\ta tab {i}" if i == 7 else f"a text of some words {i}") for i in range(30)]
        (tmp_path / name).write_text("".join(line.format(label=label, text=text) for label, text in rows))
        assert sorted(read(rows_of(tmp_path / name))) == sorted(rows)


def nested_objects(rows):
    return [
        {
            "id": number,
            "content": {"description": text, "by": {"name": f"writer {number % 9}"}},
            "meta": {"kind": label, "more": None},
            "tags": [{"name": label}, {"name": "all"}],
        }
        for number, (label, text) in enumerate(rows)
    ]


def test_nested_fields_have_dotted_names_in_every_format(tmp_path):
    rows = labelled_rows(40)
    objects = nested_objects(rows)
    (tmp_path / "a.json").write_text(json.dumps(objects))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(objects), tmp_path / "c.parquet")
    for path in sorted(tmp_path.iterdir()):
        named = rows_of(path, field="content.description", label="meta.kind", group="content.by.name")
        assert sorted(read(named)) == sorted(rows), path.name
        several = rows_of(path, wanted=("labels",), field="content.description", label="tags.name")
        assert sorted(read(several, "labels")) == sorted((f"{label}|all", text) for label, text in rows), path.name
        pairs = rows_of(path, wanted=("target",), field="content.description", target="content.by.name", insist=True)
        assert {target for target, _ in read(pairs, "target")} == {f"writer {number}" for number in range(9)}, path.name


def test_nested_columns_are_found_by_the_last_part_of_their_name(tmp_path):
    rows = labelled_rows(40)
    objects = [{"n": f"row {i}", "item": {"review": text, "label": label}} for i, (label, text) in enumerate(rows)]
    (tmp_path / "a.json").write_text(json.dumps(objects))
    assert sorted(read(rows_of(tmp_path / "a.json"))) == sorted(rows)


def test_a_nested_column_that_is_missing_is_refused_with_the_dotted_names(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(nested_objects(labelled_rows(40))))
    with refused(DataError, "'content'", "content.description"):
        read(rows_of(tmp_path / "a.json", field="content"))


def values_of(path, cells, **settings):
    path.write_text("text;price\n" + "".join(f"thing number {i};{cell}\n" for i, cell in enumerate(cells)))
    source = rows_of(path, wanted=("value",), **settings)
    return [value for value, _ in read(source, "value")], source.notes()


def test_rows_without_a_number_are_refused_by_their_lines_or_skipped(tmp_path):
    cells = [*map(str, range(10, 40)), "n/a", "41", "?"]
    with refused(DataError, "lines 32, 34", "2 of 33", "'n/a'", "data.missing_targets=skip"):
        values_of(tmp_path / "a.csv", cells)
    values, notes = values_of(tmp_path / "a.csv", cells, missing_targets="skip")
    assert sorted(values) == [*map(str, range(10, 40)), "41"]
    assert any("2 of 33 rows" in note for note in notes)


def test_what_is_no_number_is_refused_by_its_line(tmp_path):
    with refused(DataError, "line 32", "'cheap'"):
        values_of(tmp_path / "a.csv", [*map(str, range(30)), "cheap"])


def test_numbers_with_one_unit_are_read_and_told_and_others_are_refused(tmp_path):
    values, notes = values_of(tmp_path / "a.csv", [f"{number},50 €" for number in range(30)])
    assert sorted(map(float, values)) == [number + 0.5 for number in range(30)]
    assert any("decimal comma" in note for note in notes)
    assert any("'€'" in note for note in notes)
    with refused(DataError, "'$'", "'€'"):
        values_of(tmp_path / "b.csv", [f"{'$€'[number % 2]}{number}" for number in range(30)])
    with refused(DataError, "data.decimal=comma"):
        values_of(tmp_path / "c.csv", [f"{number},500" for number in range(1, 30)])
    assert "1500" in values_of(tmp_path / "c.csv", [f"{n},500" for n in range(1, 30)], decimal="point")[0]


def test_a_label_that_stands_for_none_is_told_and_can_be_skipped(tmp_path):
    rows = labelled_rows(40)
    (tmp_path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in [*rows, ("N/A", "one more")]))
    assert any("'N/A'" in note and "data.missing_targets=skip" in note for note in rows_of(tmp_path / "a.tsv").notes())
    assert sorted(read(rows_of(tmp_path / "a.tsv", missing_targets="skip"))) == sorted(rows)


def test_labels_that_consist_of_other_labels_are_told(tmp_path):
    rows = [*labelled_rows(40)]
    both = ", ".join(sorted({label for label, _ in rows})[:2])
    (tmp_path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in [*rows, (both, "x y"), (both, "z")]))
    assert any("2 rows" in note and both in note and "multi-label" in note for note in rows_of(tmp_path / "a.tsv").notes())


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.csv.gz"])
def test_tables_may_have_any_encoding(tmp_path, name):
    rows = [(label, f"{text} größer") for label, text in labelled_rows(40)]
    objects = [{"label": label, "text": text} for label, text in rows]
    contents = {
        "a.csv": "label,text\n" + "".join(f"{label},{text}\n" for label, text in rows),
        "a.json": json.dumps(objects, ensure_ascii=False),
        "a.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in objects),
    }
    encode = gzip.compress if name.endswith(".gz") else bytes
    text = contents[name.removesuffix(".gz")]
    (tmp_path / name).write_bytes(encode(text.encode("latin-1")))
    with refused(DataError, name, "data.encoding=cp1252"):
        rows_of(tmp_path / name).fingerprint()
    assert sorted(read(rows_of(tmp_path / name, encoding="latin-1"))) == sorted(rows)
    (tmp_path / name).write_bytes(encode(text.encode("utf-16")))
    assert sorted(read(rows_of(tmp_path / name))) == sorted(rows)


@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
def test_a_first_column_of_row_numbers_needs_no_name(tmp_path, first):
    rows = labelled_rows(40)
    numbers = [*range(20, 40), *range(20)]
    lines = [f"{number},{text},{label}\n" for number, (label, text) in zip(numbers, rows, strict=True)]
    (tmp_path / "a.csv").write_text(f"{first},words,kind\n" + "".join(lines))
    assert sorted(read(rows_of(tmp_path / "a.csv"))) == sorted(rows)
    table = reading.read(tmp_path / "a.csv")
    assert table.names == (first or "index", "words", "kind")
    assert not columns.fits(table, 0, "number")
    assert [columns.fits(table, index, "row number") for index in range(3)] == [True, False, False]


@pytest.mark.parametrize("name", ["a.xlsx", "a.XLS", "a.ods"])
def test_a_spreadsheet_is_refused_with_what_to_do(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04\x00\x00")
    with refused(DataError, name, "a.csv"):
        UserText(DataSpec(files=(str(tmp_path / name),))).fingerprint()
    with refused(DataError, name, "a.csv"):
        rows_of(tmp_path / name).notes()


def test_a_file_without_rows_is_refused_by_its_own_name(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n")
    with refused(DataError, "a.csv", "text, label", "data.header=no"):
        rows_of(tmp_path / "a.csv").notes()
    with refused(DataError, "a.csv"):
        UserText(DataSpec(files=(str(tmp_path / "a.csv"),))).fingerprint()
    (tmp_path / "b.json").write_text('[{"text": "", "label": "a"}]')
    with refused(DataError, "b.json"):
        UserText(DataSpec(files=(str(tmp_path / "b.json"),))).fingerprint()


def test_small_classes_and_few_rows_are_warned_of(tmp_path):
    rows = [*labelled_rows(40, classes=2), ("rare", "one"), ("rare", "two"), ("rare", "three")]
    (tmp_path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    source = rows_of(tmp_path / "a.tsv")
    trained = sum(document.fields["label"] == "rare" for document in source.documents("train"))
    assert any(f"fewer than 5 training rows: 'rare' ({trained})" in note for note in source.notes())
    absent = [note for note in source.notes() if "no row in validation" in note]
    assert bool(absent) == all(document.fields["label"] != "rare" for document in source.documents("validation"))
    (tmp_path / "b.tsv").write_text("".join(f"{label}\t{text} {index}\n" for index, (label, text) in enumerate(rows[:8])))
    assert any("only 4 rows are for training" in note for note in rows_of(tmp_path / "b.tsv").notes())
    (tmp_path / "c.tsv").write_text("".join(f"{label}\t{text} {i}\n" for i, (label, text) in enumerate(rows[:40] * 3)))
    assert not any("warning" in note for note in rows_of(tmp_path / "c.tsv").notes())


def test_classes_without_validation_rows_are_named():
    said = class_labels.split_remarks(["a"] * 9 + ["b"] * 9 + ["c", "d"], ["a", "d"])
    assert any("1 of 4 classes have no row in validation: 'b'" in line for line in said)
    assert any("1 of 4 classes have fewer than 5 training rows: 'd' (1)" in line for line in said)
