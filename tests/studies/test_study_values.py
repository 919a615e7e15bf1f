"""All pairs of a study's arms are judged on request; the values of runs item by item are scored once and kept."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glasshouse
from glasshouse.api import reports
from glasshouse.records import item_values
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.studies import study_folder, study_request, study_values
from glasshouse.studies.study_folder import StudyFolder
from glasshouse.studies.study_options import Question
from glasshouse.verdicts.verdict import ItemScores, judge, judge_pairs
from tests.refusals import refused
from tests.studies.example_studies import make_design, write_study

POSITIONS = "model.position=learned,rotary,none"
LOSSES = {
    "learned": [3.0, 3.2, 3.1, 3.3, 3.15, 3.05],
    "rotary": [2.5, 2.71, 2.59, 2.82, 2.66, 2.54],
    "none": [3.1, 3.12, 3.3, 3.25, 3.2, 3.0],
}


def positions() -> study_folder.StudyFolder:
    return write_study("positions", make_design(POSITIONS, seeds=tuple(range(6))), LOSSES)


def test_pairs_are_added_to_a_finished_study_and_the_planned_verdicts_stay() -> None:
    study = positions()
    before = reports.write_study(study)
    digest = study_request.digest(study.design())
    assert before.pairs == ()
    opened = glasshouse.studies.judge_all_pairs("positions")
    after = opened.comparison
    assert replace(after, pairs=(), command="") == replace(before, command="")
    assert [(pair.arm, pair.against) for pair in after.pairs] == [
        ("rotary", "learned"),
        ("none", "learned"),
        ("none", "rotary"),
    ]
    assert after.pairs[2].difference.word == "worse"
    assert after.pairs[2].difference.sentence.startswith("none is worse than rotary by")
    assert after.command.endswith("--all-pairs --name positions")
    assert study_request.digest(study.design()) == digest, "a registered study may be asked for its pairs"
    assert opened.pairs == {(pair.arm, pair.against): pair.difference for pair in after.pairs}
    table = json.loads((study.path / "comparison.json").read_text())
    assert [pair["against"] for pair in table["pairs"]] == ["learned", "learned", "rotary"]
    assert table == json.loads(opened.to_json())
    assert "corrected for 3 comparisons" in study.report_file.read_text()
    glasshouse.report("positions")
    assert "corrected for 3 comparisons" in study.report_file.read_text(), "the study remembers that it was asked"


def test_python_has_the_pairs_without_being_asked() -> None:
    study = positions()
    values = study_values.final_values(study, study.design())
    assert glasshouse.open_study("positions").pairs == judge_pairs(values, study.design().rule)
    assert not study.design().all_pairs


def test_one_arm_and_many_arms_are_refused() -> None:
    with refused(SpecError, "leave --all-pairs out"):
        study_request.check_pairs(1)
    with refused(SpecError, "210 pairs", "at most 20 arms"):
        study_request.check_pairs(21)
    many = ",".join(str(8 * width) for width in range(1, 22))
    study = study_folder.create(make_design(f"model.width={many}", "model.heads=1"), "many")
    with refused(SpecError, "210 pairs"):
        study_request.add_pairs(study)


def test_with_items_a_pair_is_judged_as_a_study_of_two_arms_with_more_comparisons() -> None:
    generator = np.random.default_rng(0)
    items = {
        arm: {seed: value + generator.normal(0, 0.1, 40) for seed, value in enumerate(losses)}
        for arm, losses in LOSSES.items()
    }
    values = {arm: {seed: float(row.mean()) for seed, row in rows.items()} for arm, rows in items.items()}
    rule = make_design(POSITIONS).rule
    pairs = judge_pairs(values, rule, ItemScores(items, "windows"))
    assert list(pairs) == [("rotary", "learned"), ("none", "learned"), ("none", "rotary")]
    planned = judge(values, rule, ItemScores(items, "windows"))
    for arm in ("rotary", "none"):
        assert pairs[arm, "learned"].mean == planned[arm].mean
        assert pairs[arm, "learned"].adjusted_p >= planned[arm].adjusted_p
    two = {arm: values[arm] for arm in ("rotary", "none")}
    alone = judge(two, rule, ItemScores(items, "windows"))["none"]
    assert (pairs["none", "rotary"].mean, pairs["none", "rotary"].low) == (alone.mean, alone.low)
    assert pairs["none", "rotary"].adjusted_p >= alone.adjusted_p
    assert "over 6 seeds and 40 windows" in pairs["none", "rotary"].sentence


def test_a_question_with_all_pairs_keeps_its_flag() -> None:
    design = replace(make_design(POSITIONS), all_pairs=True)
    study = study_folder.create(design, "kept")
    assert study.design().all_pairs
    sweep = replace(design, question=Question(kind="sweep", words=design.question.words))
    assert "--all-pairs" not in sweep.command("kept"), "sweep has no such option"


ITEM_LOSSES = {"layer": [3.0, 3.1, 3.2], "rms": [2.9, 3.05, 3.15]}


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
    return write_study("norms", design, ITEM_LOSSES)


def test_runs_are_scored_once(study: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    design = study.design()
    layer, rms = design.arms
    assert study_values.item_values_by_seed(study, design, layer) == {}
    study_values.score_runs(study, design, "cpu")
    stored = study_values.item_values_by_seed(study, design, rms)
    assert stored.keys() == {0, 1, 2}
    assert stored[1].mean() == pytest.approx(3.05)
    monkeypatch.setattr(Run, "item_values", None)
    study_values.score_runs(study, design, "cpu")


def test_the_verdict_is_about_seeds_and_items(study: StudyFolder) -> None:
    design = study.design()
    study_values.score_runs(study, design, "cpu")
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
    study_values.score_runs(study, design, "cpu")
    file = item_values.file_of(study.run(design.arms[0], 1), "validation")
    file.write_bytes(file.read_bytes()[:40])
    with refused(RunError, str(file)):
        study_values.item_values_by_seed(study, design, design.arms[0])


def test_a_study_without_scored_runs_has_a_report(study: StudyFolder) -> None:
    results = reports.write_study(study)
    assert results.items == 0
    assert results.arms[1].difference is None


def test_the_folder_of_items_is_part_of_the_run(study: StudyFolder) -> None:
    study_values.score_runs(study, study.design(), "cpu")
    assert Path("studies/norms/rms/seed-0/item_values/validation.npz").is_file()
    assert study_folder.find("norms").status() == "done"
