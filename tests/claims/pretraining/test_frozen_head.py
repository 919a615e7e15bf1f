"""The claim frozen-head: its parts on made-up values, and a quick run from end to end."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining import frozen_head
from glasshouse.claims.pretraining.arithmetic import FROZEN, FULL, RANDOM_FROZEN, SETTINGS
from glasshouse.claims.pretraining.frozen_head import COURSE, STEP_SHARE, FrozenHead
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(full=0.93, frozen=0.82, random_frozen=0.81, share=0.7, tuned_frozen=None):
    """Made-up values of the course's experiment. The tuned frozen encoder may have another accuracy."""
    series = {STEP_SHARE: close_values(share, 0.01)}
    for setting in COURSE.ways:
        means = {FULL: full, FROZEN: frozen, RANDOM_FROZEN: random_frozen}
        if setting == "tuned" and tuned_frozen is not None:
            means[FROZEN] = tuned_frozen
        for shift, (way, mean) in enumerate(means.items()):
            series[COURSE.quantity(setting, way)] = close_values(mean, 0.01, shift)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"frozen": 0.99}, REFUTED),
        ({"frozen": 0.93}, TOO_SMALL),
        ({"random_frozen": 0.99}, REFUTED),  # a random encoder does better than the pretrained one
        ({"share": 1.3}, REFUTED),
        ({"share": 1.0}, TOO_SMALL),
        ({"tuned_frozen": 0.99}, DEPENDS),  # the frozen encoder needs a larger learning rate
    ],
)
def test_full_fine_tuning_must_be_more_accurate_and_slower(changes, verdict):
    assert judge(FrozenHead, values(**changes)).verdict == verdict


def test_a_pretrained_encoder_that_is_no_better_than_a_random_one_is_shown_and_does_not_decide():
    finding = judge(FrozenHead, values(frozen=0.81, random_frozen=0.81))
    assert finding.verdict == UPHELD
    assert outcome(finding, "a frozen pretrained encoder beats a frozen random one", SETTINGS["tuned"]) == TOO_SMALL


def test_without_the_courses_data_the_claim_is_undecided():
    assert judge(FrozenHead, {STEP_SHARE: close_values(0.7, 0.01)}).verdict == UNDECIDED


def test_speeds_follow_from_the_seconds_of_each_round():
    series = frozen_head.speeds([0.1, 0.2], [0.05, 0.05])
    assert series[STEP_SHARE].values == {0: 0.5, 1: 0.25}
    assert series["speed/full"].values == {0: 10.0, 1: 5.0}
    assert series["speed/frozen"].values == {0: 20.0, 1: 20.0}


@pytest.mark.slow
def test_a_quick_run_measures_every_expression_of_the_courses_test_file(course_files):
    trial = trials.try_claim("frozen-head", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    full = series[COURSE.quantity("recipe", FULL)]
    assert {len(row) for row in full.items.values()} == {160}
    assert set(full.values) == set(series[COURSE.opponent("majority")].values) == {0, 1}
    assert series[COURSE.opponent("majority")].values[0] == pytest.approx(0.7625)
    assert not any(key.startswith("generated/") for key in series), "a quick run makes one experiment"
    assert len(series[STEP_SHARE].values) >= 2
    assert any("fine-tuning-course-tuned" in what for what, _ in trial.measured.facts)
