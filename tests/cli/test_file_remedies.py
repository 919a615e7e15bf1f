"""Errors about a file name what the command takes: its options, or a change of the file. It takes no settings of a spec."""

import io
import re
from pathlib import Path

import pytest

from glasshouse.specs.errors import DataError, GlasshouseError, LimitExceeded

from .program import call, refused, worked

SMALL = ("model.width=16", "model.layers=1", "training.epochs=1", "training.precision=fp32", "training.threads=1")
WORDS = ("sun", "rain", "wind")
ROWS = [f"{WORDS[number % 3]} {number},{WORDS[number % 2]}" for number in range(60)]
# Name of a file -> its content and the kind of the error that a classifier of the columns text and label gives.
UNUSABLE = {
    "latin.csv": ("text,label\ncafé,sun\nthé,rain\n".encode("latin-1"), DataError),
    "uneven.csv": (b"text,label\nwarm,sun\nwet,rain,3,4\n", DataError),
    "long.csv": (b"text,label\n" + b"x" * 17_000_000 + b",sun\n", GlasshouseError),
    "columns.csv": (b"a,b,c\nsun here,sun so,sun\nrain now,rain oh,rain\nsun there,rain oh,sun\n", DataError),
    "numbers.csv": (b"text,value\nwarm,1\nwet,2\n", DataError),
    "labels.csv": (b"text,label\nwarm,moon\nwet,sun\n", GlasshouseError),
}


@pytest.fixture
def classifier(tmp_path: Path) -> str:
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(ROWS) + "\n")
    worked(call("train", "classifier", "data.files=rows.csv", "data.label=label", *SMALL, "--device", "cpu"))
    for name, (content, _) in UNUSABLE.items():
        (tmp_path / name).write_bytes(content)
    return "classifier"


def remedy(message: str) -> str:
    """What an error says after the rule and the value."""
    return message.partition("; ")[2]


def test_no_remedy_names_a_setting_that_the_command_does_not_take(classifier: str) -> None:
    for name, (_, kind) in UNUSABLE.items():
        for command in (("evaluate", classifier, "--data", name), ("heads", classifier, "--data", name)):
            message = refused(call(*command), kind)
            assert remedy(message), message
            assert not re.search(r"data\.\w|--limits|--field", message), message
    for name in ("latin.csv", "uneven.csv", "long.csv", "columns.csv"):
        message = refused(call("classify", classifier, "--file", name), UNUSABLE[name][1])
        assert remedy(message), message
        assert "data." not in message
    for name in ("latin.csv", "long.csv"):
        for command in (("few-shot", classifier, "--task", name), ("tokenizer", "train", name)):
            assert "data." not in remedy(refused(call(*command), UNUSABLE[name][1]))


def test_the_remedies_work(classifier: str, tmp_path: Path) -> None:
    message = refused(call("evaluate", classifier, "--data", "numbers.csv"), DataError, "call that column 'label'")
    assert message.count("; ") == 1
    (tmp_path / "numbers.csv").write_text("text,label\nwarm,sun\nwet,rain\n")
    worked(call("evaluate", classifier, "--data", "numbers.csv"))
    refused(call("classify", classifier, "--file", "columns.csv"), DataError, "--field NAME")
    worked(call("classify", classifier, "--file", "columns.csv", "--field=a"))
    names = ("text", *(f"other{number}" for number in range(5000)))
    (tmp_path / "wide.csv").write_text("\n".join([",".join(names), ",".join(["warm"] * len(names))]))
    raised = "columns=40960"
    refused(call("classify", classifier, "--file", "wide.csv"), LimitExceeded, f"raise the limit: --limits {raised}")
    worked(call("classify", classifier, "--file", "wide.csv", "--limits", raised))


def test_a_column_of_a_file_without_columns_is_refused(
    classifier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lines.txt").write_text("warm\nwet\n")
    refused(call("classify", classifier, "--file", "lines.txt", "--field", "nosuch"), DataError, "'nosuch'")
    worked(call("classify", classifier, "--file", "lines.txt"))
    monkeypatch.setattr("sys.stdin", io.StringIO("warm\nwet\n"))
    refused(call("classify", classifier, "-", "--field", "nosuch"), DataError, "--field")
