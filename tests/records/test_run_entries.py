"""Entries of runs: what they say, also of damaged and half-written runs, and that unchanged runs are not read again."""

from pathlib import Path

from glasshouse.records import metric_log, run_entries
from glasshouse.records.run_entries import DAMAGED, RunEntryReader
from glasshouse.records.status import Status

from .example_folders import make_run


def test_an_entry_of_a_finished_run(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", report=True)
    reader = RunEntryReader()
    entry = reader.read(run.path)
    assert (entry.name, entry.status, entry.task, entry.recipe) == ("a", Status.DONE, "next-token", "demo-lm")
    assert (entry.data, entry.figure) == ("state-of-the-union", ("validation perplexity", "12.34"))
    assert (entry.steps, entry.total_steps, entry.seconds) == (10, 10, 5.0)
    assert entry.has_report
    assert entry.has_curves
    assert reader.curves(run.path)["validation"] == ([5.0, 10.0], [1.2, 0.6])
    assert len(reader.curves(run.path)["training"][0]) == 10


def test_a_run_whose_process_has_died_is_interrupted_and_one_with_a_lock_trains(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=6, status=Status.TRAINING)
    reader = RunEntryReader()
    assert reader.read(run.path).status == Status.INTERRUPTED
    with run.locked():
        entry = reader.read(run.path)
    assert entry.status == Status.TRAINING
    assert entry.figure == ("validation loss", "1.2000")
    assert (entry.steps, entry.total_steps) == (6, 10)


def test_a_changed_run_is_read_again(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=6, status=Status.TRAINING)
    reader = RunEntryReader()
    assert reader.read(run.path).steps == 6
    metric_log.append(run.metrics_file, {"step": 7, "loss": 1.0, "seconds": 4.0})
    assert reader.read(run.path).steps == 7
    assert reader.curves(run.path)["training"][0][-1] == 7


def test_damaged_and_half_written_runs_give_what_can_be_read(tmp_path: Path) -> None:
    damages = {
        "cut": lambda run: (run.path / "run.json").write_text('{"status": "do'),
        "no-facts": lambda run: (run.path / "run.json").unlink(),
        "no-spec": lambda run: run.spec_file.unlink(),
        "binary": lambda run: run.metrics_file.write_bytes(b"\xff\x00{" * 100),
        "odd": lambda run: run.record(headline=[1, 2], outcome="x", plan=3, created="y", status=7),
        "empty": lambda run: [file.write_text("") for file in (run.spec_file, run.metrics_file)],
        "list": lambda run: (run.path / "run.json").write_text("[]"),
    }
    for name, damage in damages.items():
        damage(make_run(tmp_path / name))
    (tmp_path / "no-run").mkdir()
    (tmp_path / ".hidden").mkdir()
    folders = run_entries.folders_in(tmp_path)
    assert {folder.name for folder in folders} == set(damages)
    entries = {folder.name: RunEntryReader().read(folder) for folder in folders}
    assert {name for name, entry in entries.items() if entry.error} == {"cut", "no-facts", "no-spec", "list", "odd"}
    assert entries["cut"].steps == 10
    assert entries["no-spec"].figure == ("validation perplexity", "12.34")
    assert entries["binary"].steps == 0
    assert entries["odd"].status == DAMAGED
    assert "headline must be an object" in entries["odd"].error
    assert run_entries.folders_in(tmp_path / "missing") == []
