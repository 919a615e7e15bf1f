"""`glasshouse classify`: a classifier from a file of rows to predictions."""

import json
from pathlib import Path

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
    refused(call("sample", "rows"), "not-a-language-model")
