"""The claim model-grid: its questions, its verdict on made-up values, and a quick run through a real grid."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.language_models.model_grid import (
    LARGE,
    MIDDLE,
    NEW,
    SMALL,
    SPLITS,
    TRAINED,
    ModelGrid,
    checked_question,
    first_questions,
    right,
)
from glasshouse.data.sources.calculations import OPERATIONS
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(train=0.9, test=0.9, middle=0.5, noise=0.001):
    """The large model has these shares of right answers, the small one 0.1."""
    return {
        right(split, arm): close_values({SMALL: 0.1, MIDDLE: middle, LARGE: large}[arm], noise, shift=number)
        for split, large in (("train", train), ("test", test))
        for number, arm in enumerate((SMALL, MIDDLE, LARGE))
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"train": 0.4, "test": 0.4}, REFUTED),
        ({"middle": 0.0}, REFUTED),
        ({"train": 0.52, "test": 0.52}, TOO_SMALL),
        ({"test": 0.52}, DEPENDS),
        ({"noise": 3.0}, UNDECIDED),
    ],
)
def test_every_larger_model_must_be_right_more_often(changes, verdict):
    assert judge(ModelGrid, values(**changes)).verdict == verdict


def test_both_kinds_of_questions_are_judged_apart():
    assert dict(judge(ModelGrid, values(test=0.52)).by_setting) == {TRAINED: UPHELD, NEW: TOO_SMALL}


def test_questions_are_balanced_and_answers_must_begin_with_the_result():
    asked = first_questions("test", 3)
    assert [calculation[1] for _, calculation in asked] == [operation for operation in OPERATIONS for _ in range(3)]
    question = checked_question("What is 7 divided by 12?", (7, "divided by", 12))
    for answer, passed in (("0.58", True), ("0.58.", True), ("0.583", False), ("1 or 0.58", False), ("0.5", False)):
        assert (not question.fault(answer)) == passed, answer


@pytest.mark.slow
def test_a_quick_run_asks_every_model():
    trial = trials.try_claim("model-grid", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(ModelGrid.quantities)
    assert all(len(series[right(split, LARGE)].items[0]) == len(OPERATIONS) for split in SPLITS.values())
    assert all(0 <= value <= 1 for found in series.values() for value in found.values.values())
    assert sum("divided by 26" in what for what, _ in trial.measured.facts) == 3
