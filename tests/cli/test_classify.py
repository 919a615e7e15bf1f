"""`glasshouse classify`: a classifier from a file of rows to predictions, and the other predictions about texts."""

import json
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError
from tests.tasks.json_rows import use_json_rows, write_rows

from .program import (
    call,
    refused,
    worked,
)


def test_a_classifier_from_rows_to_answers(tmp_path: Path) -> None:
    rows = [f"{label}\t{label}a {label}b {number}" for label in ("ba", "do") for number in range(40)]
    (tmp_path / "mine.tsv").write_text("\n".join(rows))
    sizes = ("model.width=16", "model.layers=1", "model.heads=2", "training.epochs=4", "training.precision=fp32")
    fields = (f"data.files={tmp_path / 'mine.tsv'}", "training.threads=1", "evaluation.every=10")
    out = worked(call("train", "classifier", *fields, *sizes, "--name", "rows", "--device", "cpu")).out
    assert "accuracy" in out
    assert "largest class" in out
    assert 'glasshouse classify rows "' in out
    assert "ba" in worked(call("classify", "rows", "baa bab 7", "--device", "cpu")).out
    found = json.loads(worked(call("classify", "rows", "baa", "dob", "--json", "--device", "cpu")).out)
    assert [set(each) for each in found] == [{"ba", "do"}, {"ba", "do"}]
    assert "accuracy" in worked(call("evaluate", "rows", "--device", "cpu")).out
    assert "accuracy" in worked(call("runs")).out
    refused(call("sample", "rows"), GlasshouseError)


SMALL = ("model.width=16", "model.layers=1", "training.epochs=1", "training.precision=fp32", "training.threads=1")


def test_a_number_several_classes_tags_and_pairs_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_json_rows(monkeypatch)
    changing = [{"text": f"word {n}", "value": str(n), "labels": "a|b" if n % 2 else "", "tags": "X Y"} for n in range(20)]
    path = write_rows(tmp_path / "rows.jsonl", changing)
    common = (f"data.files={path}", *SMALL, "data.tokenizer=words", "--device", "cpu")
    worked(call("train", "regressor", *common, "--name", "number"))
    assert "value" in worked(call("classify", "number", "word 3", "--device", "cpu")).out
    [found] = json.loads(worked(call("classify", "number", "word 3", "--json", "--device", "cpu")).out)
    assert isinstance(found["value"], float)
    refused(call("classify", "number", "word 3", "--second", "word", "--device", "cpu"), GlasshouseError)
    worked(call("train", "multi-label-classifier", *common, "--name", "several"))
    assert "classes" in worked(call("classify", "several", "word 3", "--device", "cpu")).out
    [found] = json.loads(worked(call("classify", "several", "word 3", "--json", "--device", "cpu")).out)
    assert found["probabilities"].keys() == {"a", "b"}
    worked(call("train", "tagger", *common, "--name", "tags"))
    out = worked(call("classify", "tags", "word 3", "--device", "cpu")).out
    assert "word" in out
    assert "probability" in out
    [found] = json.loads(worked(call("classify", "tags", "word 3", "--json", "--device", "cpu")).out)
    assert found["words"] == ["word", "3"]


def test_a_pair_is_given_with_its_second_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_json_rows(monkeypatch)
    rows = [{"text": f"word {n}", "second": f"other {n}", "label": "ab"[n % 2]} for n in range(20)]
    path = write_rows(tmp_path / "pairs.jsonl", rows)
    common = (f"data.files={path}", *SMALL, "--device", "cpu")
    worked(call("train", "pair-classifier", *common, "--name", "pairs"))
    answers = worked(call("classify", "pairs", "word 1", "--second", "other", "--json", "--device", "cpu")).out
    assert json.loads(answers)[0].keys() == {"a", "b"}
    assert "word 1 | other" in worked(call("classify", "pairs", "word 1", "--second", "other", "--device", "cpu")).out
    refused(call("classify", "pairs", "word 1", "--device", "cpu"), GlasshouseError)
