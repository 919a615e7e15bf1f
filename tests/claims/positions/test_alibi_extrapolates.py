"""The claim alibi-extrapolates: judged on made-up values, and a whole quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.positions.alibi_extrapolates import ARMS, AlibiExtrapolates
from glasshouse.results.claim import REFUTED, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome

REPORTED = "at the reported learning rate"


def finding(rise=0.01, noise=0.001, unreadable=0.0, others=0.0):
    values = {}
    for arm in ARMS:
        values[f"{arm}/unreadable"] = dict.fromkeys(range(8), unreadable if arm == "alibi" else 0.0)
        for setting in ("reported", "tuned"):
            values[f"{setting}/{arm}/rise-64"] = close_values(0.0, 0.001)
            values[f"{setting}/{arm}/rise-128"] = close_values(rise if arm == "alibi" else others, noise)
    return judge(AlibiExtrapolates, values)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({}, UPHELD),
        ({"rise": -0.5}, UPHELD),  # a fall is flat too
        ({"rise": math.log(1.04)}, UPHELD),
        ({"rise": math.log(1.06)}, REFUTED),
        ({"rise": math.log(1.05)}, UNDECIDED),
        ({"unreadable": 1.0}, REFUTED),
        ({"others": 1.0}, UPHELD),  # the others do not decide
    ],
)
def test_flat_is_a_rise_of_less_than_five_per_cent(values, verdict):
    assert finding(**values).verdict == verdict


def test_others_are_judged_beside_it():
    beside = finding(others=1.0)
    assert outcome(beside, "none: flat up to 64 tokens", REPORTED) == UPHELD
    assert outcome(beside, "none: flat up to 128 tokens", REPORTED) == REFUTED


@pytest.mark.slow
def test_a_quick_run_measures_every_arm_at_every_length(speeches):
    trial = trials.try_claim("alibi-extrapolates", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert {f"reported/{arm}/{length}" for arm in ARMS for length in (16, 32, 64, 128)} <= set(series)
    assert all(series[f"{arm}/unreadable"].values == {0: 0.0, 1: 0.0} for arm in ARMS)
    assert series["reported/alibi/rise-128"].items is not None
    assert math.isfinite(series["reported/bigram"].values[0])
