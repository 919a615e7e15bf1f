"""The claim position-table: judged on made-up values, and a whole quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.positions.position_table import BEYOND_WIDTH, WITHIN_WIDTH, PositionTable
from glasshouse.pages.claim_content import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.positions.judging import judge


def verdicts(sinusoidal=0.2, one_hot=0.02, noise=0.01, unreadable=(0.0, 1.0), longest=6.0):
    """The verdict and its parts at 64 tokens (reported, tuned) and at 128, from rises and lengths that cannot be read."""
    values = {
        f"{arm}/unreadable": dict.fromkeys(range(8), count)
        for arm, count in zip(("sinusoidal", "one-hot"), unreadable, strict=True)
    }
    for setting in ("reported", "tuned"):
        values[f"{setting}/sinusoidal/rise-64"] = close_values(sinusoidal, noise)
        values[f"{setting}/one-hot/rise-64"] = close_values(one_hot, noise, shift=3)
        values[f"{setting}/sinusoidal/128"] = close_values(longest)
        values[f"{setting}/unigram"] = dict.fromkeys(range(8), 6.5)
    finding = judge(PositionTable, values)
    assert [setting for setting, _ in finding.by_setting] == [*WITHIN_WIDTH.values(), BEYOND_WIDTH]
    return finding.verdict, [word for _, word in finding.by_setting]


@pytest.mark.parametrize(
    ("values", "verdict", "at_64", "at_128"),
    [
        ({}, DEPENDS, REFUTED, UPHELD),
        ({"sinusoidal": 0.02, "one_hot": 0.2}, UPHELD, UPHELD, UPHELD),
        ({"sinusoidal": 0.02}, DEPENDS, TOO_SMALL, UPHELD),
        ({"sinusoidal": 0.03, "noise": 0.3}, UNDECIDED, UNDECIDED, UPHELD),
        ({"unreadable": (1.0, 1.0)}, REFUTED, REFUTED, REFUTED),  # sinusoidal positions cannot be read either
        ({"unreadable": (0.0, 0.0)}, DEPENDS, REFUTED, TOO_SMALL),  # both can be read
        ({"longest": 7.0}, REFUTED, REFUTED, REFUTED),  # it can be read, but a count of words does better
    ],
)
def test_inability_to_read_counts_beyond_the_width_and_the_rise_within_it(values, verdict, at_64, at_128):
    assert verdicts(**values) == (verdict, [at_64, at_64, at_128])


def test_a_quick_run_counts_the_lengths_that_each_arm_cannot_read(speeches):
    trial = trials.try_claim("position-table", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    unreadable = {key.partition("/")[0]: values.values[0] for key, values in series.items() if key.endswith("/unreadable")}
    assert unreadable == {
        "sinusoidal": 0,
        "one-hot": 1,
        "learned": 2,
        "relative": 0,
        "relative-buckets": 0,
        "alibi": 0,
        "rotary": 0,
        "none": 0,
    }
    rise, loss = series["reported/one-hot/rise-64"], series["reported/one-hot/64"]
    assert rise.values[0] == pytest.approx(loss.values[0] - series["reported/one-hot/32"].values[0], abs=1e-6)
    assert rise.items is not None
    assert loss.items is None
    assert "reported/one-hot/128" not in series
    assert "reported/learned/64" not in series
    assert dict(trial.measured.facts)["fixed-codes-reported, one-hot at 64 tokens"].startswith("rebuilt")
