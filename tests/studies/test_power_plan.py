"""The power plan: the difference that the seeds find, and where the standard deviation comes from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glasshouse.studies import power_plan, study_folder
from glasshouse.studies.power_plan import DifferenceDeviation, seeds_to_find, smallest_difference
from glasshouse.studies.study_folder import Design
from glasshouse.verdicts import statistics
from glasshouse.verdicts.sequential_tests import Look
from glasshouse.verdicts.verdict import VerdictRule
from tests.studies.example_studies import make_design, write_study

NORMS = "model.norm=layer,rms"
SEEDS = tuple(range(8))
LOOKS = (4, 8, 16)


def planned(*words: str, **changes: object) -> Design:
    return make_design(*(words or (NORMS,)), seeds=SEEDS, **changes)


def test_the_difference_is_found_four_times_in_five() -> None:
    found = smallest_difference(0.03, 8)
    assert statistics.difference_power(found / 0.03, 8, 0.05) == pytest.approx(0.8, abs=1e-6)
    text = power_plan.sentence(planned(), DifferenceDeviation(0.03, "by what was seen in the study earlier"))
    assert text.startswith(f"power: 8 seeds find a difference of {found:.2g} four times in five; 20 would find 0.02 (")
    assert "in the study earlier" in text


def test_more_arms_and_looks_need_a_larger_difference() -> None:
    plain = smallest_difference(1.0, 8)
    assert smallest_difference(1.0, 8, arms=3) > plain
    assert smallest_difference(1.0, 8, looks=(4, 8)) > plain
    assert smallest_difference(1.0, 8, alpha=0.01) > plain


def test_a_margin_says_how_many_seeds_are_needed() -> None:
    deviation = DifferenceDeviation(0.03, "by a guess")
    small, large = (planned(rule=VerdictRule(margin=margin)) for margin in (0.01, 0.5))
    text = power_plan.sentence(small, deviation)
    needed = int(text.partition("; ")[2].split()[0])
    assert "would find 0.01" in text
    assert statistics.difference_power(0.01 / 0.03, needed, 0.05) >= 0.8
    assert statistics.difference_power(0.01 / 0.03, needed - 1, 0.05) < 0.8
    assert "would find" not in power_plan.sentence(large, deviation), "the seeds find the margin already"


def test_without_earlier_runs_the_unit_is_the_standard_deviation() -> None:
    found = smallest_difference(1.0, 8)
    text = power_plan.sentence(planned(), None)
    assert f"{found:.2f} standard deviations four times in five" in text
    assert power_plan.deviation_of_earlier_study(planned(), Path("nowhere")) is None


def losses(deviation: float) -> dict[str, list[float]]:
    """Losses whose differences have this standard deviation."""
    differences = np.array([-1.0, 1.0] * 4)
    first = np.linspace(3.0, 4.0, 8)
    return {"layer": first.tolist(), "rms": (first + differences * deviation / differences.std(ddof=1)).tolist()}


def test_the_newest_finished_study_of_the_same_recipe_and_metric_counts() -> None:
    root = study_folder.root()
    write_study("old", planned(created=1.0, finished=True), losses(0.5))
    write_study("new", planned(created=2.0, finished=True), losses(0.03))
    write_study("unfinished", planned(created=3.0), losses(0.7))
    write_study("later", planned(created=9e9, finished=True), losses(0.7))
    (root / "damaged").mkdir()
    (root / "damaged" / "study.json").write_text("{")
    deviation = power_plan.deviation_of_earlier_study(planned("model.position=learned,none", created=4.0), root)
    assert deviation is not None
    assert deviation.value == pytest.approx(0.03)
    assert "the study new" in deviation.source
    assert power_plan.deviation_of_earlier_study(planned(created=4.0, metric="test.loss"), root) is None
    other = replace(planned(created=4.0), arms=tuple(replace(arm, recipe="characters") for arm in planned().arms))
    assert power_plan.deviation_of_earlier_study(other, root) is None


@pytest.mark.parametrize("looks", [(), LOOKS])
@pytest.mark.parametrize("arms", [2, 5])
def test_the_number_of_seeds_inverts_the_smallest_difference(arms, looks):
    for seeds in (4, 8, 16):
        difference = smallest_difference(0.3, seeds, arms, looks)
        assert seeds_to_find(difference * 1.0001, 0.3, arms, looks) == seeds
        assert seeds_to_find(difference * 0.999, 0.3, arms, looks) == seeds + 1


def test_the_smallest_difference_is_found_four_times_in_five():
    level = Look(LOOKS, 8).level(0.05 / 2)
    difference = smallest_difference(2.0, 8, 3, LOOKS)
    assert statistics.difference_power(difference / 2, 8, level, Look(LOOKS, 8).strength) == pytest.approx(0.8)


def test_more_arms_and_looks_need_larger_differences_and_more_seeds():
    plans = [{}, {"arms": 4}, {"arms": 4, "looks": LOOKS}]
    differences = [smallest_difference(1.0, 12, **plan) for plan in plans]
    fewest, more, most = (seeds_to_find(0.6, 1.0, **plan) for plan in plans)
    assert differences == sorted(differences)
    assert fewest < more < most


def test_differences_without_spread_and_without_size_have_plain_answers():
    assert seeds_to_find(0.1, 0.0) == 2
    assert seeds_to_find(0.0, 0.0) is None
    assert seeds_to_find(0.001, 1.0) is None
    assert smallest_difference(0.0, 5) == 0
