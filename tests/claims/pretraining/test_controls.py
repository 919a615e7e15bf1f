"""The control of the claims about pretraining: what a sound trial answers on made-up values, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining import controls
from glasshouse.claims.pretraining.controls import LARGE, MAJORITY_CLASS, SMALL, A, B, PretrainingControl
from glasshouse.results.claim import REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(again=0.93, planted=LARGE, small=SMALL, majority=0.694):
    return {
        A: close_values(0.93, 0.01),
        B: close_values(again, 0.01, shift=3),
        "planted/large": close_values(again + planted, 0.01, shift=3),
        "planted/small": close_values(again + small, 0.01, shift=3),
        MAJORITY_CLASS: dict.fromkeys(range(8), majority),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"again": 0.97}, REFUTED),  # two names for one thing differ
        ({"planted": 0.0}, TOO_SMALL),  # the planted gain is not found
        ({"small": 0.04}, REFUTED),
        ({"majority": 0.99}, REFUTED),
    ],
)
def test_a_sound_trial_gives_the_known_answers(changes, verdict):
    assert judge(PretrainingControl, values(**changes)).verdict == verdict


@pytest.mark.slow
def test_a_quick_run_pairs_the_two_experiments_and_plants_the_effects(course_files):
    trial = trials.try_claim("pretraining-control", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series[A].values) == set(series[B].values) == {0, 1}
    assert series[A].values != series[B].values
    for key, gain in controls.PLANTED.items():
        assert series[key].values[0] == pytest.approx(series[B].values[0] + gain)
        assert series[key].items[1][0] == pytest.approx(series[B].items[1][0] + gain)
    assert trial.registration.quick
