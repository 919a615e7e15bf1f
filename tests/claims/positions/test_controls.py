"""The control of the claims about positions: judged on made-up values, and a whole quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.positions.controls import PositionsControl
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdict(again=0.0, large=0.04, small=0.005, unigram=6.5, unreadable=0.0, noise=0.001):
    values = {
        "unreadable": dict.fromkeys(range(8), unreadable),
        "none": close_values(6.0),
        "unigram": dict.fromkeys(range(8), unigram),
    }
    for measure, mean in (("32", 6.0), ("rise-64", 0.01)):
        values[f"first/{measure}"] = close_values(mean, noise)
        for name, difference in (("second", 0.0), ("large", large), ("small", small)):
            values[f"{name}/{measure}"] = close_values(mean + again + difference, noise, shift=3)
    return judge(PositionsControl, values).verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, UPHELD),
        ({"again": 0.05}, REFUTED),  # two names for one thing differ
        ({"again": 0.02}, UNDECIDED),
        ({"large": 0.0}, TOO_SMALL),  # the planted effect is not found
        ({"small": 0.02}, UPHELD),  # shown beside it
        ({"unigram": 5.0}, REFUTED),
        ({"unreadable": 1.0}, REFUTED),
    ],
)
def test_a_sound_trial_gives_the_known_answers(values, expected):
    assert verdict(**values) == expected


@pytest.mark.slow
def test_a_quick_run_pairs_the_two_names_and_plants_the_effects(speeches):
    trial = trials.try_claim("positions-control", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    for measure in ("32", "rise-64"):
        first, second, large = (series[f"{name}/{measure}"].values for name in ("first", "second", "large"))
        assert set(first) == set(second) == {0, 1}
        assert first != second
        assert large[0] == pytest.approx(second[0] + 0.04)
