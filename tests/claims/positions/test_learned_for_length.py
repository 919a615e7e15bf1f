"""The claim learned-for-length: judged on made-up values, and a whole quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.positions.learned_for_length import LearnedForLength
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdict(unreadable=0.0, reported=-0.1, tuned=-0.1, noise=0.01):
    """The verdict if learned positions cannot read this many lengths and differ from sinusoidal ones by this at 128."""
    values = {"learned/unreadable": dict.fromkeys(range(8), unreadable)}
    for setting, difference in (("reported", reported), ("tuned", tuned)):
        values[f"{setting}/long/sinusoidal/128"] = close_values(6.0, noise)
        values[f"{setting}/long/learned/128"] = close_values(6.0 + difference, noise, shift=3)
    return judge(LearnedForLength, values).verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"unreadable": 2.0}, REFUTED),  # a table without a row for the position, whatever its losses
        ({}, UPHELD),
        ({"reported": 0.1, "tuned": 0.1}, REFUTED),
        ({"reported": 0.0, "tuned": 0.0}, TOO_SMALL),
        ({"tuned": 0.0}, DEPENDS),
        ({"reported": 0.03, "tuned": 0.03, "noise": 0.3}, UNDECIDED),
    ],
)
def test_a_cure_works_beyond_the_trained_length_and_at_it(values, expected):
    assert verdict(**values) == expected


@pytest.mark.slow
def test_learned_positions_cannot_read_more_tokens_than_in_training(speeches):
    trial = trials.try_claim("learned-for-length", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    counts = {arm: series[f"{arm}/unreadable"].values[0] for arm in ("learned", "sinusoidal", "one-hot", "alibi")}
    assert counts == {"learned": 2, "sinusoidal": 0, "one-hot": 1, "alibi": 0}
    assert "reported/learned/64" not in series
    assert {"reported/learned-lengthened/64", "reported/learned-lengthened/rise-128"} <= set(series)
    assert series["reported/learned-lengthened/32"].values == series["reported/learned/32"].values
    assert series["reported/long/learned/128"].items is not None
    assert trial.verdict == REFUTED, "the structure decides, whatever the figures"
