"""The run folder: names, locks, status, damaged files, and folders of newer versions."""

import json

import pytest

from glasshouse.records import run_folder
from glasshouse.records.status import Status
from glasshouse.specs import declared
from glasshouse.specs.errors import GlasshouseError, RunError
from tests.records.example_spec import SPEC
from tests.refusals import refused


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
