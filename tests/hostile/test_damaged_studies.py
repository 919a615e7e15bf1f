"""A study with one damaged value is refused in one line or opened without it, and never hides the other studies."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glasshouse
from glasshouse.api import reports
from glasshouse.records import run_entries
from glasshouse.records.run_folder import RunFolder
from glasshouse.results import plain_verdict
from glasshouse.results.plain_verdict import PlainMetric
from glasshouse.scaling import scale_study
from glasshouse.specs.errors import GlasshouseError, RunError
from glasshouse.studies import study_results, study_values
from glasshouse.studies.study_folder import StudyFolder
from tests.cli.program import call, worked
from tests.refusals import refused
from tests.scaling import small_studies
from tests.studies.example_studies import make_design, write_study

# A sweep of hostile input: what SECURITY.md promises is held in every run by test_containment.py and test_bounds.py.
pytestmark = pytest.mark.slow

TUNING = {
    "field": "training.learning_rate",
    "values": {"layer": ["1"], "rms": ["1"]},
    "seeds": [],
    "found": {},
    "chosen": {},
}
LOSSES = {"layer": [2.0, 2.1, 2.2], "rms": [1.0, 1.1, 1.3]}
Table = dict[str, Any]


@pytest.fixture
def norms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished study in the studies folder."""
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    return write_study("norms", make_design("model.norm=layer,rms", finished=True), LOSSES, tmp_path / "studies").path


def alter(file: Path, change: Callable[[Table], Any]) -> None:
    table = json.loads(file.read_text())
    change(table)
    file.write_text(json.dumps(table))


def first_arm_takes(name: str) -> Callable[[Table], None]:
    """Gives both arms the same value of a field."""
    return lambda table: table["arms"][0].update({name: table["arms"][1][name]})


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        (lambda table: table.update(replicates="../x"), RunError, "../x"),
        (lambda table: table.update(replicates="/etc"), RunError, "/etc"),
        (lambda table: table["rule"].update(margin=1e308), RunError, "rule.margin"),
        (lambda table: table["rule"].update(spread=1e308), RunError, "rule.spread"),
        *((lambda table, name=name: table["rule"].pop(name), RunError, name) for name in ("looks", "alpha", "margin")),
        (lambda table: table["rule"].update(alpha=1e-320), RunError, "rule.alpha"),
        (lambda table: table.update(tuning=TUNING), RunError, "tuning.seeds"),
        (lambda table: table["rule"].pop("higher_is_better"), RunError, "higher_is_better"),
        (first_arm_takes("folder"), RunError, "folder 'rms'"),
        (lambda table: table["arms"][0].update(folder="RMS"), RunError, "folder 'rms'"),
        (first_arm_takes("name"), RunError, "name 'rms'"),
        (lambda table: table["arms"][0].update(folder="study.json"), RunError, "'study.json'"),
        (lambda table: table["arms"][0].update(folder="multiverse"), RunError, "'multiverse'"),
        (lambda table: table["arms"][0].update(folder="checkpoints"), RunError, "'checkpoints'"),
        (lambda table: table.update(seeds=[0, 0, 1]), RunError, "a seed twice"),
    ],
)
def test_what_decides_a_verdict_is_refused_if_it_is_damaged(norms, change, code, named):
    shutil.copytree(norms, norms.with_name("sound"))
    alter(norms / "study.json", change)
    for act in (lambda: reports.write_study(StudyFolder(norms)), lambda: glasshouse.open_study("norms").comparison):
        with refused(code, named):
            act()
    listed = worked(call("studies")).out
    assert "damaged" in listed
    assert "sound" in listed


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        (lambda table: table.update(replicates="../../victim"), RunError, "../../victim"),
        (lambda table: table.update(metric="validation.beauty"), RunError, "validation.beauty"),
        (
            lambda table: table.update(
                tuning={**TUNING, "seeds": [9], "values": {"layer": ["../../victim"], "rms": ["1e-3"]}}
            ),
            RunError,
            "study.json",
        ),
    ],
)
def test_what_cannot_be_judged_is_not_trained(norms, change, code, named):
    alter(norms / "study.json", lambda table: (table.update(finished=False), change(table)))
    for run in norms.glob("*/seed-*"):
        shutil.rmtree(run)
    with refused(code, named):
        glasshouse.resume(norms, device="cpu")
    assert not list(norms.glob("**/spec.toml"))


def test_a_file_in_place_of_the_runs_is_refused_before_a_run_is_trained(norms, tmp_path, monkeypatch):
    alter(norms / "study.json", lambda table: table.update(finished=False))
    shutil.rmtree(norms / "rms" / "seed-1")
    (tmp_path / "file").write_text("a file")
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(tmp_path / "file"))
    with refused(RunError, "GLASSHOUSE_RUNS"):
        glasshouse.resume(norms, device="cpu")
    assert not (norms / "rms" / "seed-1").exists()


def test_a_run_of_another_arm_does_not_count(norms):
    shutil.rmtree(norms / "rms" / "seed-1")
    shutil.copytree(norms / "layer" / "seed-1", norms / "rms" / "seed-1")
    study = StudyFolder(norms)
    results = study_results.collect(study)
    assert [sorted(arm.values) for arm in results.arms] == [[0, 1, 2], [0, 2]]
    assert any("model.norm" in note and "seed-1" in note for note in results.notes)
    with refused(RunError, "model.norm", "'layer'"):
        study_values.final_values(study, study.design())


@pytest.mark.parametrize("margin", [2**70, 1e30, 1e-320])
def test_a_margin_that_can_be_read_can_be_written_in_words(norms, margin):
    alter(norms / "study.json", lambda table: table["rule"].update(margin=margin))
    results = reports.write_study(StudyFolder(norms))
    assert all(arm.plain for arm in results.arms if arm.difference)


@pytest.mark.parametrize("margin", [1e308, 2**70, 800.0])
def test_a_huge_difference_of_losses_has_a_size(margin):
    assert "%" in PlainMetric("loss", False, exponential=True).size(margin)
    assert plain_verdict.PlainMetric("accuracy", True).size(margin)


def test_a_damaged_original_does_not_hide_its_replication(norms):
    again = make_design("model.norm=layer,rms", finished=True, replicates="norms", seeds=(3, 4, 5))
    write_study("again", again, LOSSES, norms.parent)
    alter(norms / "study.json", lambda table: table["rule"].pop("looks"))
    results = study_results.collect(StudyFolder(norms.with_name("again")))
    assert [outcome.words for outcome in results.replications] == [{}]
    assert any("rule.looks" in note for note in results.notes)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda table: table["sizes"][0].update(name="../../../victim"), RunError),
        (lambda table: table["sizes"][0].update(name="/etc"), RunError),
        (lambda table: table["sizes"][0]["parameters"].pop("all"), RunError),
        (lambda table: table["sizes"][0]["facts"].pop("plan"), RunError),
        (lambda table: table["sizes"][0].update(tokens=-5), RunError),
        (lambda table: table["sizes"].append(table["sizes"][0]), RunError),
    ],
)
def test_an_altered_scaling_study_is_listed_as_damaged(norms, change, code):
    study = small_studies.write_study(norms.with_name("scaling"))
    assert scale_study.find("scaling") == study
    alter(study.path / scale_study.FILE, change)
    with refused(code, scale_study.FILE):
        scale_study.find("scaling")
    listed = worked(call("studies")).out
    assert "damaged" in listed
    assert "norms" in listed


@pytest.mark.parametrize("file", ["run.json", "spec.toml", "metrics.jsonl"])
def test_a_folder_in_place_of_a_file_of_a_run_is_damage(norms, monkeypatch, file):
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(norms / "rms"))
    (norms / "rms" / "seed-1" / file).unlink(missing_ok=True)
    (norms / "rms" / "seed-1" / file).mkdir()
    damaged = {run.name: run.error for run in glasshouse.runs.runs_overview() if run.status == run_entries.DAMAGED}
    assert list(damaged) == ["seed-1"]
    assert file in damaged["seed-1"]
    assert RunFolder(norms / "rms" / "seed-0").sound_facts()[1] == []
    worked(call("runs"))
    worked(call("studies"))
    glasshouse.runs.write_pages(norms.parent)
    assert any(file in note for note in study_results.collect(StudyFolder(norms)).notes)


@pytest.mark.parametrize("file", ["study.json", "scaling.json"])
def test_a_folder_in_place_of_the_file_of_a_study_is_damage(norms, file):
    small_studies.write_study(norms.with_name("scaling"))
    damaged = norms.with_name("damaged-one")
    (damaged / file).mkdir(parents=True)
    assert worked(call("studies")).out.count("is a directory") <= 1
    with pytest.raises(GlasshouseError, match=file):
        glasshouse.open_study("damaged-one").design if file == "study.json" else scale_study.find("damaged-one")
