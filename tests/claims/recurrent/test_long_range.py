"""The claim long-range: its verdict on made-up accuracies, how advantages are computed, and a quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.recurrent.long_range import ATTENTION, GRU, LENGTHS, RECIPES, WINDOW, LongRange, difference
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Series
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(gru=(0.06, 0.2, 0.8, 0.85), window=(0.0, 0.6, 0.85, 0.85), noise=0.01):
    """The advantages over both at each length."""
    series = {}
    for number, (length, over_gru, over_window) in enumerate(zip(LENGTHS, gru, window, strict=True)):
        series[f"advantage/{length}/{GRU}"] = close_values(over_gru, noise, shift=number)
        series[f"advantage/{length}/{WINDOW}"] = close_values(over_window, noise, shift=number + 3)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"gru": (0.8, 0.8, 0.5, 0.2)}, REFUTED),
        ({"gru": (0.8, 0.8, 0.8, 0.82)}, TOO_SMALL),  # an advantage that does not grow, however large
        ({"window": (0.5, 0.5, 0.5, 0.5)}, TOO_SMALL),
        ({"window": (0.5, 0.5, 0.5, 0.1)}, REFUTED),
        ({"noise": 5}, UNDECIDED),
    ],
)
def test_the_advantage_must_grow_over_both(changes, verdict):
    assert judge(LongRange, values(**changes)).verdict == verdict


def test_single_doublings_and_checks_are_shown_beside_it():
    series = values(gru=(0.06, 0.02, 0.8, 0.85))
    series |= {f"accuracy/8/{arm}": close_values(0.99, 0.01) for arm in (ATTENTION, WINDOW)}
    series[f"accuracy/8/{GRU}"] = close_values(0.93, 0.01, shift=2)
    finding = judge(LongRange, series)
    assert finding.verdict == UPHELD
    names = [part.name for part in LongRange.parts]
    [first_doubling] = [name for name in names if "GRU" in name and "from 8 to 16" in name]
    assert outcome(finding, first_doubling) != UPHELD
    assert [outcome(finding, name) for name in names if name.startswith(("check", "control"))] == [UPHELD, UPHELD]
    unlearned = judge(LongRange, {**series, f"accuracy/8/{GRU}": close_values(0.13, 0.01, shift=2)})
    [check] = [name for name in names if name.startswith("check")]
    assert outcome(unlearned, check) == REFUTED


def test_an_advantage_is_a_difference_seed_by_seed():
    left, right = Series({1: 0.9, 2: 0.8, 3: 1.0}), Series({1: 0.5, 2: math.nan})
    result = difference(left, right).values
    assert result[1] == pytest.approx(0.4)
    assert math.isnan(result[2])
    assert set(result) == {1, 2}


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    trial = trials.try_claim("long-range", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(LongRange.quantities)
    assert series[f"accuracy/8/{WINDOW}"] == series[f"accuracy/8/{ATTENTION}"], "the window covers the whole text"
    parameters = [
        int(text.split()[0].replace(",", "")) for name, text in trial.measured.facts if name.startswith("lengths, ")
    ]
    assert len(parameters) == len(RECIPES) * len(LENGTHS)
    assert max(parameters) < 1.05 * min(parameters)
