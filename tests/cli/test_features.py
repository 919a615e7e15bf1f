"""`glasshouse features`."""

import json
from pathlib import Path

from glasshouse.specs.errors import DataError, GlasshouseError

from .program import (
    call,
    refused,
    worked,
)


def test_features_tell_what_they_can(masked_run: Path, labelled_rows: Path) -> None:
    out = worked(call("features", str(masked_run), "--task", str(labelled_rows), "--device", "cpu")).out
    for words in ("16 features", "96 train, 12 validation, 12 test", "logistic regression, test", "linear SVM", "recall of"):
        assert words in out
    found = json.loads(
        worked(
            call("features", str(masked_run), "--task", str(labelled_rows), "--limit", "30", "--pooling", "first", "--json")
        ).out
    )
    assert found["rows"] == {"train": 30, "validation": 12, "test": 12}
    assert 0 <= found["verdicts"][0]["metrics"]["test"]["accuracy"] <= 1
    refused(call("features", str(masked_run), "--task", "state-of-the-union"), DataError)
    refused(call("features", str(masked_run), "--task", "nowhere.tsv"), DataError, "'nowhere.tsv'")
    refused(
        call("features", str(masked_run), "--task", str(labelled_rows), "--pooling", "middle"),
        GlasshouseError,
        "--pooling=middle",
    )
