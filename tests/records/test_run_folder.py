"""The run folder: names, locks, status, damaged files, and folders of newer versions."""

import json
import threading
import time
from pathlib import Path

import pytest

import glasshouse
from glasshouse.records import checkpoint, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import declared
from glasshouse.specs.errors import GlasshouseError, Interrupted, RunError
from tests.records.example_spec import SPEC
from tests.refusals import refused

FIELDS = ("data.tokenizer=characters", "data.vocabulary=64", "data.context=16", "model.width=16", "model.layers=1")
SPEED = ("model.heads=2", "training.batch=4", "training.threads=1", "training.precision=fp32", "evaluation.every=100000")


def test_default_names_count_up_and_a_chosen_name_must_be_free():
    assert [run_folder.create(SPEC, None, "demo").name for _ in range(3)] == ["demo", "demo-2", "demo-3"]
    run_folder.create(SPEC, "mine", "demo")
    with refused(RunError):
        run_folder.create(SPEC, "mine", "demo")
    assert run_folder.find("mine").spec() == declared.completed(SPEC)


def test_a_run_that_gets_another_name_says_so(capsys):
    run_folder.create(SPEC, None, "demo")
    run_folder.create(SPEC, "mine", "demo")
    assert capsys.readouterr().err == "", "the name was free"
    run_folder.create(SPEC, None, "demo")
    said = capsys.readouterr().err
    for words in ("there is a run demo already", "demo-2", "--name"):
        assert words in said


@pytest.mark.parametrize("name", ["../x", " ", "a/b", ".hidden", "x" * 200, "a b"])
def test_invalid_names_are_refused(name):
    with refused(RunError):
        run_folder.create(SPEC, name, "demo")


def test_an_unknown_run_and_a_run_of_a_newer_version_are_refused():
    run = run_folder.create(SPEC, "demo", "demo")
    with refused(RunError, "'demo'"):
        run_folder.find("demos")
    run.record(format=run_folder.FORMAT + 1)
    with refused(GlasshouseError):
        run_folder.find("demo")


def test_a_run_is_locked_by_one_process():
    run = run_folder.create(SPEC, "demo", "demo")
    with run.locked(), refused(RunError), run.locked():
        pass
    with run.locked():
        pass


def test_a_run_that_no_process_trains_is_interrupted():
    run = run_folder.create(SPEC, "demo", "demo")
    run.record(status=Status.TRAINING)
    with run.locked():
        assert run.status() is Status.TRAINING
    assert run.status() is Status.INTERRUPTED
    assert run.recorded_status() is Status.TRAINING
    run.record(status=Status.DONE)
    assert run.status() is Status.DONE


def test_a_damaged_run_json_is_named():
    run = run_folder.create(SPEC, "demo", "demo")
    (run.path / "run.json").write_text("{")
    with refused(GlasshouseError, "run.json"):
        run_folder.find("demo")
    (run.path / "run.json").write_text(json.dumps({"format": "x"}))
    with refused(GlasshouseError):
        run_folder.find("demo")


def test_a_run_that_is_asked_to_stop_saves_and_can_be_resumed(runs: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat. " * 60)
    run, ended = runs / "a", threading.Event()

    def ask() -> None:
        while not ended.is_set() and not (run / "metrics.jsonl").exists():
            time.sleep(0.01)
        RunFolder(run).ask_to_stop()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with pytest.raises(Interrupted):
            glasshouse.train(
                "language-model", f"data.files={text}", *FIELDS, *SPEED, "training.steps=100000", name="a", device="cpu"
            )
    finally:
        ended.set()
        asking.join()
    assert not RunFolder(run).stop_request.exists()
    [step] = checkpoint.steps(run / "checkpoints")
    assert 0 < step < 100000
    assert glasshouse.open_run("a").folder.status() == "interrupted"
