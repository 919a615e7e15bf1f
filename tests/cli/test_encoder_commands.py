"""A pulse for what is done with a trained run besides sampling it: features, few-shot, augment."""

import json
import random
from pathlib import Path

import pytest

from .program import SMALL, call, refused, worked

ENCODER = (*SMALL, "training.steps=2", "evaluation.every=2")


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, text: Path) -> Path:
    """The folder of a masked-token run."""
    folder = tmp_path_factory.mktemp("masked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        worked(call("train", "masked-model", *ENCODER, f"data.files={text}", "--name", "masked", "--device", "cpu"))
    return folder / "masked"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Rows of two classes, which begin with the name of their class."""
    chance = random.Random(0)
    found = [(label, f"{label}{chance.choice('abc')} {number}") for number in range(60) for label in ("ba", "do")]
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in found))
    return path


def test_features_tell_what_they_can(masked: Path, rows: Path) -> None:
    out = worked(call("features", str(masked), "--task", str(rows), "--device", "cpu")).out
    for words in ("16 features", "96 train, 12 validation, 12 test", "logistic regression, test", "linear SVM", "recall of"):
        assert words in out
    found = json.loads(
        worked(call("features", str(masked), "--task", str(rows), "--limit", "30", "--pooling", "first", "--json")).out
    )
    assert found["rows"] == {"train": 30, "validation": 12, "test": 12}
    assert 0 <= found["verdicts"][0]["metrics"]["test"]["accuracy"] <= 1
    refused(call("features", str(masked), "--task", "state-of-the-union"), "source-lacks-column")
    refused(call("features", str(masked), "--task", "nowhere.tsv"), "unknown-data", "'nowhere.tsv'")
    refused(call("features", str(masked), "--task", str(rows), "--pooling", "middle"), "unknown-word", "pooling='middle'")


def test_examples_in_the_context_are_counted(run: Path, rows: Path, tmp_path: Path) -> None:
    options = ("--shots", "0,1,4", "--examples", "10", "--draws", "2", "--device", "cpu")
    form = ("--template", r"{text}\n{label}\n")
    out = worked(call("few-shot", "tiny", "--task", str(rows), *options, *form, "--output", "shots.png")).out
    assert "10 test texts, 2 classes" in out
    assert "20 of 20" in out, "four examples do not fit into 16 tokens"
    assert "wrote shots.png" in out
    assert (tmp_path / "shots.png").stat().st_size > 1000
    found = json.loads(worked(call("few-shot", "tiny", "--task", str(rows), *options, *form, "--calibrate", "--json")).out)
    assert [each["shots"] for each in found["by_shots"]] == [0, 1, 4]
    assert found["calibrated"] is True
    refused(call("few-shot", "tiny", "--task", str(rows), "--shots", "some"), "bad-shots", "--shots")
    refused(call("few-shot", "tiny", "--task", str(rows), "--shots", "500"), "bad-shots", "96")
    refused(call("few-shot", "tiny", "--task", str(rows), "--template", "{text}"), "bad-template")
    refused(call("few-shot", "tiny", "--task", str(rows), "--output", "shots.gif"), "wrong-suffix")


def test_few_shot_needs_a_run_that_continues_text(masked: Path, rows: Path) -> None:
    refused(call("few-shot", str(masked), "--task", str(rows)), "not-a-language-model")


def test_rows_are_augmented(masked: Path, run: Path, rows: Path, tmp_path: Path) -> None:
    options = ("--output", "more.tsv", "--device", "cpu")
    out = worked(call("augment", str(masked), str(rows), "--copies", "1", *options)).out
    assert "120 rows and 120 copies" in out
    assert "hidden tokens came back as others" in out
    lines = (tmp_path / "more.tsv").read_text().splitlines()
    assert len(lines) == 240
    assert lines[::2] == rows.read_text().splitlines()
    assert [line.split("\t")[0] for line in lines[1::2]] == [line.split("\t")[0] for line in lines[::2]]
    refused(call("augment", str(masked), str(rows), *options), "output-exists", "more.tsv")
    refused(call("augment", str(masked), str(rows), "--output", "b.tsv", "--share", "2"), "bad-option", "share=2")
    refused(call("augment", str(masked), "gone.tsv", "--output", "b.tsv"), "unreadable-file", "gone.tsv")
    refused(call("augment", "tiny", str(rows), "--output", "b.tsv"), "not-a-masked-model")
    assert not (tmp_path / "b.tsv").exists()
