"""`glasshouse few-shot`."""

import json
from pathlib import Path

from glasshouse.specs.errors import GlasshouseError

from .program import (
    call,
    refused,
    worked,
)


def test_examples_in_the_context_are_counted(run: Path, labelled_rows: Path, tmp_path: Path) -> None:
    options = ("--shots", "0,1,4", "--examples", "10", "--draws", "2", "--device", "cpu")
    form = ("--template", r"{text}\n{label}\n")
    out = worked(call("few-shot", "tiny", "--task", str(labelled_rows), *options, *form, "--output", "shots.png")).out
    assert "10 test texts, 2 classes" in out
    assert "20 of 20" in out, "four examples do not fit into 16 tokens"
    assert "wrote shots.png" in out
    assert (tmp_path / "shots.png").stat().st_size > 1000
    found = json.loads(
        worked(call("few-shot", "tiny", "--task", str(labelled_rows), *options, *form, "--calibrate", "--json")).out
    )
    assert [each["shots"] for each in found["by_shots"]] == [0, 1, 4]
    assert found["calibrated"] is True
    refused(call("few-shot", "tiny", "--task", str(labelled_rows), "--shots", "some"), GlasshouseError, "--shots")
    refused(call("few-shot", "tiny", "--task", str(labelled_rows), "--shots", "500"), GlasshouseError, "96")
    refused(call("few-shot", "tiny", "--task", str(labelled_rows), "--template", "{text}"), GlasshouseError)
    refused(call("few-shot", "tiny", "--task", str(labelled_rows), "--output", "shots.gif"), GlasshouseError)


def test_few_shot_needs_a_run_that_continues_text(masked_run: Path, labelled_rows: Path) -> None:
    refused(call("few-shot", str(masked_run), "--task", str(labelled_rows)), GlasshouseError)
