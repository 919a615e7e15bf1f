"""Augmented files: labels, plain lines, reproducibility, and outputs that cannot be written."""

import json

import glasshouse
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.refusals import refused


def test_a_file_is_written_with_its_labels(masked_run, tmp_path):
    rows = [("bird", "the wren sat\ton\nan oak"), ("tree", "an old oak"), ("none", "")]
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    path = masked_run.folder.path
    augmented = glasshouse.augment(path, source, tmp_path / "more.tsv", copies=2, device="cpu")
    lines = (tmp_path / "more.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["bird"] * 3 + ["tree"] * 3
    assert lines[0] == "bird\tthe wren sat on an oak"
    assert all(line.count("\t") == 1 for line in lines)
    assert (augmented.rows, augmented.copies) == (2, 4)
    assert augmented.hidden >= 4
    again = glasshouse.augment(path, source, tmp_path / "again.tsv", copies=2, device="cpu")
    assert (tmp_path / "again.tsv").read_text() == (tmp_path / "more.tsv").read_text()
    assert again.changed == augmented.changed
    plain = tmp_path / "lines.txt"
    plain.write_text("the wren\n\nan old owl\n")
    glasshouse.augment(path, plain, tmp_path / "lines.more.txt", copies=1, device="cpu")
    written = (tmp_path / "lines.more.txt").read_text().splitlines()
    assert len(written) == 4
    assert written[::2] == ["the wren", "an old owl"]
    for output, kind in (("more.tsv", GlasshouseError), ("x.csv", GlasshouseError), ("no/x.tsv", GlasshouseError)):
        with refused(kind, output.partition("/")[0]):
            glasshouse.augment(path, source, tmp_path / output, device="cpu")


def test_a_run_of_another_task_is_refused(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{'ab'[n % 2]}\tword{n}\n" for n in range(40)))
    training = {"epochs": 1, "threads": 1, "precision": "fp32"}
    glasshouse.train("classifier", name="c", device="cpu", data={"files": [str(path)]}, training=training)
    with refused(DataError):
        glasshouse.augment("c", path, tmp_path / "more.tsv", device="cpu")
    assert not (tmp_path / "more.tsv").exists()
