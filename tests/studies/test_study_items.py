"""The values of runs item by item: scored once, stored with the run, and what is refused before training."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glasshouse.api import reports
from glasshouse.records import item_values
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.studies import study_folder, study_items, study_values
from glasshouse.studies.study_folder import StudyFolder
from tests.refusals import refused
from tests.studies.example_studies import make_design, write_study

LOSSES = {"layer": [3.0, 3.1, 3.2], "rms": [2.9, 3.05, 3.15]}


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    """A study whose runs have 30 items each; the mean over the items is the run's loss."""

    def values(run: Run, split: str) -> dict[str, np.ndarray]:
        loss = run.facts["outcome"][split]["loss"]
        shape = np.random.default_rng(len(run.folder.path.parent.name)).normal(0, 0.6, 30)
        return {"loss": loss + shape - shape.mean(), "bits_per_byte": np.ones(30)}

    monkeypatch.setattr(Run, "item_values", values)
    design = make_design("model.norm=layer,rms")
    design = replace(design, question=replace(design.question, items=True), finished=True)
    return write_study("norms", design, LOSSES)


def test_runs_are_scored_once(study: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    design = study.design()
    layer, rms = design.arms
    assert study_items.values_by_seed(study, design, layer) == {}
    study_items.score_runs(study, design, "cpu")
    stored = study_items.values_by_seed(study, design, rms)
    assert stored.keys() == {0, 1, 2}
    assert stored[1].mean() == pytest.approx(3.05)
    monkeypatch.setattr(Run, "item_values", None)
    study_items.score_runs(study, design, "cpu")


def test_the_verdict_is_about_seeds_and_items(study: StudyFolder) -> None:
    design = study.design()
    study_items.score_runs(study, design, "cpu")
    results = reports.write_study(study)
    assert (results.items, results.item_name) == (30, "windows of text")
    difference = results.arms[1].difference
    plain = study_values.current_verdicts(study, replace(design, question=replace(design.question, items=False)))["rms"]
    assert difference is not None
    assert difference.mean == pytest.approx(plain.mean)
    assert difference.high - difference.low > plain.high - plain.low
    assert "over 3 seeds and 30 windows of text" in difference.sentence
    page = study.report_file.read_text()
    assert "the same 30 windows of text" in page
    assert "two-way random effects" in page


def test_a_damaged_file_is_refused_with_the_remedy(study: StudyFolder) -> None:
    design = study.design()
    study_items.score_runs(study, design, "cpu")
    file = item_values.file_of(study.run(design.arms[0], 1), "validation")
    file.write_bytes(file.read_bytes()[:40])
    with refused(RunError, str(file)):
        study_items.values_by_seed(study, design, design.arms[0])


def test_a_study_without_scored_runs_has_a_report(study: StudyFolder) -> None:
    results = reports.write_study(study)
    assert results.items == 0
    assert results.arms[1].difference is None


def test_the_folder_of_items_is_part_of_the_run(study: StudyFolder) -> None:
    study_items.score_runs(study, study.design(), "cpu")
    assert Path("studies/norms/rms/seed-0/item_values/validation.npz").is_file()
    assert study_folder.find("norms").status() == "done"
