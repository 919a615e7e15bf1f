"""The claim model-grid: its verdict on made-up values, and a quick run through a real grid."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.language_models.model_grid import (
    LARGE,
    MIDDLE,
    NEW,
    REPEATS,
    SMALL,
    SPLITS,
    TRAINED,
    ModelGrid,
    right,
)
from glasshouse.pages.claim_content import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(train=0.9, test=0.9, noise=0.001):
    """The large model has these shares of right answers, the small one 0.1."""
    return {
        right(split, arm): close_values({SMALL: 0.1, MIDDLE: 0.5, LARGE: large}[arm], noise, shift=number)
        for split, large in (("train", train), ("test", test))
        for number, arm in enumerate((SMALL, MIDDLE, LARGE))
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"train": 0.0, "test": 0.0}, REFUTED),
        ({"train": 0.12, "test": 0.12}, TOO_SMALL),
        ({"test": 0.12}, DEPENDS),
        ({"noise": 3.0}, UNDECIDED),
    ],
)
def test_the_large_model_must_be_right_more_often(changes, verdict):
    assert judge(ModelGrid, values(**changes)).verdict == verdict


def test_both_kinds_of_questions_are_judged_apart():
    assert dict(judge(ModelGrid, values(test=0.12)).by_setting) == {TRAINED: UPHELD, NEW: TOO_SMALL}


@pytest.mark.slow
def test_a_quick_run_asks_every_model():
    trial = trials.try_claim("model-grid", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert {right(split, arm) for split in SPLITS.values() for arm in (SMALL, MIDDLE, LARGE)} <= set(series)
    assert len(series[right("test", LARGE)].items[0]) == 4
    assert all(0 <= value * REPEATS * 4 <= REPEATS * 4 for value in series[right("train", SMALL)].values.values())
    assert sum("divided by 26" in what for what, _ in trial.measured.facts) == 3
