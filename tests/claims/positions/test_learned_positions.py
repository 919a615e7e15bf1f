"""The claim learned-positions: judged on made-up values, and a whole quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.positions.learned_positions import LearnedPositions
from glasshouse.results.claim import DEPENDS, REFUTED, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdict(loss=0.0, tuned_loss=None, accuracy=0.0, noise=0.001, one_hot=5.0):
    """The verdict if learned positions differ from sinusoidal ones by this."""
    values = {}
    for setting, difference in (("reported", loss), ("tuned", loss if tuned_loss is None else tuned_loss)):
        values[f"{setting}/loss/sinusoidal"] = close_values(6.0, noise)
        values[f"{setting}/loss/learned"] = close_values(6.0 + difference, noise, shift=3)
        values[f"{setting}/test-new/sinusoidal"] = close_values(0.6, noise)
        values[f"{setting}/test-new/learned"] = close_values(0.6 + accuracy, noise, shift=3)
        values[f"{setting}/loss/one-hot"] = close_values(one_hot, noise)
    return judge(LearnedPositions, values).verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, UPHELD),
        ({"loss": -1.0, "accuracy": 0.2}, UPHELD),
        ({"loss": 0.01, "accuracy": -0.01}, UPHELD),  # worse, by half the margin
        ({"loss": 0.1}, REFUTED),
        ({"accuracy": -0.05}, REFUTED),
        ({"tuned_loss": 0.1}, DEPENDS),
        ({"loss": 0.02, "noise": 0.05}, UNDECIDED),
        ({"one_hot": 1.0}, UPHELD),  # shown beside it
    ],
)
def test_learned_positions_may_be_worse_by_less_than_the_margin(values, expected):
    assert verdict(**values) == expected


@pytest.mark.slow
def test_a_quick_run_scores_windows_and_new_segments(speeches):
    trial = trials.try_claim("learned-positions", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert series["reported/loss/learned"].items is not None
    new = series["reported/test-new/learned"]
    assert set(new.items[0]) <= {0.0, 1.0}
    assert sum(new.items[0]) / len(new.items[0]) == pytest.approx(new.values[0])
    assert "reported/test/none" in series
