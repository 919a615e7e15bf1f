"""Fixtures of the tests of claims about pretraining: made-up files in place of the course's, and in place of tweets."""

from pathlib import Path

import pytest

from glasshouse.claims.pretraining import arithmetic
from tests.cli.program import some_text

SIGNS = ("negative", "zero", "positive")


@pytest.fixture
def course_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of data, with the generated expressions in the format of the course's files."""
    folder = tmp_path / "data"
    (folder / "verbal_arithmetic").mkdir(parents=True)
    splits = {split: arithmetic.labelled("verbal-arithmetic", split) for split in ("train", "validation", "test")}
    for name, rows in (("train", splits["train"] + splits["validation"]), ("test", splits["test"])):
        lines = [f"{number},{text},{SIGNS.index(label)}\n" for number, (text, label) in enumerate(rows)]
        (folder / "verbal_arithmetic" / f"PA03_data_20_{name}.csv").write_text(",input,label\n" + "".join(lines))
    monkeypatch.setenv("GLASSHOUSE_DATA", str(folder))
    return folder


@pytest.fixture
def tweets(course_files: Path) -> Path:
    """Made-up tweets in the same folder."""
    for task, labels in (("emotion", "joy anger"), ("irony", "irony non_irony")):
        files = course_files / "tweeteval" / task
        files.mkdir(parents=True)
        (files / "mapping.txt").write_text("".join(f"{number}\t{label}\n" for number, label in enumerate(labels.split())))
        for seed, split in enumerate(("train", "val", "test")):
            lines = [line for line in some_text(300, seed + 10 * len(task)).splitlines() if line.strip()]
            (files / f"{split}_text.txt").write_text("\n".join(lines) + "\n")
            (files / f"{split}_labels.txt").write_text("".join(f"{number % 2}\n" for number in range(len(lines))))
    return course_files
