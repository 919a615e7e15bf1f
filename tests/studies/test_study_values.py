"""All pairs of a study's arms: judged on request, from the folder alone, beside unchanged planned comparisons."""

import json
from dataclasses import replace

import numpy as np

import glasshouse
from glasshouse.api import reports
from glasshouse.specs.errors import SpecError
from glasshouse.studies import study_folder, study_request, study_values
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
