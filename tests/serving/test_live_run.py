"""The live view of a run: time left, cost so far, curves and evaluations, also of a log that is half written."""

from pathlib import Path

from glasshouse.records.run_entries import RunEntryReader
from glasshouse.records.status import Status
from glasshouse.results.index import LiveRun, PageLink
from glasshouse.serving import live_run
from tests.records.example_folders import make_run


def view(path: Path) -> LiveRun:
    report = PageLink("its report", "report")
    return live_run.collect("a", RunEntryReader().read(path), (), report)


def test_a_run_in_training_has_its_time_left_and_its_cost(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=6, status=Status.TRAINING)
    with open(run.metrics_file, "a") as file:
        file.write('{"step": 7, "lo')
    with run.locked():
        found = view(run.path)
    # A step takes half a second, and 4 of 10 are left.
    assert dict(found.headline) == {
        "time left": "2.0 s",
        "validation loss": "1.2000",
        "steps": "6 of 10",
        "time so far": "3.0 s",
        "tokens so far": "600",
        "compute so far": "600 MFLOP",
    }
    assert found.share == 0.6
    assert [curve.name for curve in found.loss] == ["training", "validation"]
    assert found.evaluations[1][:2] == ("5", "1.2")
    assert found.actions == ("stop",)
    assert found.report is None


def test_a_run_that_has_just_begun_or_is_damaged_has_a_view(tmp_path: Path) -> None:
    begun = make_run(tmp_path / "begun", steps=0, status=Status.NEW)
    assert view(begun.path).loss == ()
    assert "time left" not in dict(view(begun.path).headline)
    damaged = make_run(tmp_path / "damaged")
    (damaged.path / "run.json").write_text("[")
    damaged.metrics_file.write_bytes(b'{"step": 1, "loss": "x", "seconds": null}\n\xff\xfe')
    found = view(damaged.path)
    assert found.status == "damaged"
    assert "run.json" in found.explanation
    assert found.actions == ()
