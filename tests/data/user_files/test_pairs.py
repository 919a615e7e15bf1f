"""The user's pairs of a text and its translation: tables, two parallel files, and bad files that are refused."""

import pytest

from glasshouse.data.user_files.pairs import UserPairs
from tests.refusals import refused


def train_pairs(*paths):
    """{text: translation} of all rows; nothing is held out."""
    source = UserPairs(tuple(map(str, paths)), "text", "target", 0.0, 0.0)
    return {document.text: document.fields["target"] for document in source.documents("train")}


def test_two_files_are_paired_line_by_line(tmp_path):
    files = tmp_path / "a.txt", tmp_path / "b.txt"
    files[0].write_text("one\ntwo\nthree\nfour\n")
    files[1].write_text("eins\nzwei\ndrei\nvier\n")
    assert train_pairs(*files) == {"one": "eins", "two": "zwei", "three": "drei", "four": "vier"}
    files[1].write_text("eins\nzwei\n")
    with refused("unequal-line-counts"):
        train_pairs(*files)


def test_line_breaks_stay_in_a_field_and_rows_without_a_target_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text('text,target\n"one\ntwo",x\nthree,y\n')
    assert train_pairs(tmp_path / "a.csv") == {"one\ntwo": "x", "three": "y"}
    (tmp_path / "b.jsonl").write_text('{"text": "one", "target": null}\n{"text": "two", "target": "b"}\n')
    assert train_pairs(tmp_path / "b.jsonl") == {"two": "b"}


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("a.tsv", "one two\n", ("no-tab",)),
        ("a.csv", "x,y\n1,2\n", ("missing-column", "data.target=NAME")),
        ("a.jsonl", '{"text": "a"}\n', ("missing-column", "data.target=NAME")),
        ("a.txt", "one\n", ("not-a-table",)),
        ("a.tsv", "one\t\n\ttwo\n", ("no-rows",)),
        ("a.csv", "text,target\n" + "a" * 200_000 + ",x\n", ("bad-csv-row",)),
    ],
    ids=["no tab", "no columns", "no target", "plain text", "no rows", "too long"],
)
def test_a_bad_file_is_refused(tmp_path, name, content, refusal):
    (tmp_path / name).write_text(content)
    with refused(*refusal):
        train_pairs(tmp_path / name)
