"""The user's labelled rows: every file format gives the same rows, no text is in two splits, and bad files are refused."""

import json

import pytest

from glasshouse.data.user_files.labelled import UserLabelled
from tests.data.user_files.labelled_rows import labelled_rows
from tests.refusals import refused


def test_every_file_format_gives_the_same_rows(tmp_path):
    rows = labelled_rows(40)
    paths = [tmp_path / name for name in ("a.tsv", "b.csv", "c.jsonl")]
    paths[0].write_text("".join(f"{label}\t{text}\r\n" for label, text in rows))
    paths[1].write_text("kind,words\n" + "".join(f'{label},"{text}"\n' for label, text in rows))
    paths[2].write_text("".join(json.dumps({"kind": label, "words": text}) + "\n" for label, text in rows))
    read = [
        [(d.fields["label"], d.text) for split in ("train", "validation", "test") for d in source.documents(split)]
        for source in (UserLabelled((str(path),), "words", "kind", 0.2, 0.2) for path in paths)
    ]
    assert read[0] == read[1] == read[2]
    assert sorted(read[0]) == sorted(rows)


def test_a_text_is_in_one_split_and_unusual_rows_are_noted(tmp_path):
    path = tmp_path / "odd.tsv"
    rows = "".join(f"{label}\t{text}\n" for label, text in labelled_rows(60))
    path.write_text(rows * 2 + "fruit\t\n\ttext\nfruit\tx\nbird\tx\n")
    source = UserLabelled((str(path),), "text", "label", 0.2, 0.2)
    split_by_text: dict = {}
    for split in ("train", "validation", "test"):
        for document in source.documents(split):
            assert split_by_text.setdefault(document.text, split) == split
    notes = " ".join(source.notes())
    for words in ("2 of 124 rows", "repeat a text", "more than one label"):
        assert words in notes


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("a.tsv", "no tab here\n", ("no-tab",)),
        ("a.csv", "x,y\n1,2\n", ("missing-column", "data.field=NAME")),
        ("a.csv", "text,y\n1,2\n", ("missing-column", "data.label=NAME")),
        ("a.jsonl", '{"text": "a"}\n', ("missing-column", "data.label=NAME")),
        ("a.jsonl", "nonsense\n", ("not-json",)),
        ("a.txt", "fruit\tapple\n", ("not-a-table",)),
        ("a.tsv", "\t\n", ("no-rows",)),
    ],
)
def test_a_bad_file_is_refused(tmp_path, name, content, refusal):
    path = tmp_path / name
    path.write_text(content)
    with refused(*refusal):
        list(UserLabelled((str(path),), "text", "label", 0.05, 0.05).documents("train"))
