"""The claim alibi-quality: judged on made-up values, and a whole quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.positions.alibi_quality import ARMS, TEXTS, AlibiQuality
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdict(loss=-0.1, tuned_loss=None, obama=None, accuracy=0.0, noise=0.001, without=0.0):
    """The verdict if ALiBi differs from learned positions by this; without positions the losses differ by `without`."""
    values = {}
    for setting, difference in (("reported", loss), ("tuned", loss if tuned_loss is None else tuned_loss)):
        for text in TEXTS:
            gain = obama if text == "test-obama" and obama is not None else difference
            values[f"{setting}/{text}/learned"] = close_values(6.0, noise)
            values[f"{setting}/{text}/alibi"] = close_values(6.0 + gain, noise, shift=3)
            values[f"{setting}/{text}/none"] = close_values(6.0 + without, noise, shift=3)
        values[f"{setting}/test-new/learned"] = close_values(0.6, noise)
        values[f"{setting}/test-new/alibi"] = close_values(0.6 + accuracy, noise, shift=3)
    return judge(AlibiQuality, values).verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, UPHELD),
        ({"accuracy": -0.01}, UPHELD),
        ({"accuracy": -0.03}, REFUTED),
        ({"obama": 0.1}, REFUTED),
        ({"obama": -0.01}, TOO_SMALL),
        ({"tuned_loss": 0.1}, DEPENDS),
        ({"loss": -0.03, "noise": 0.3}, UNDECIDED),
        ({"without": -1.0}, UPHELD),  # models without positions are shown beside it
    ],
)
def test_every_text_and_the_classifier_decide_in_both_settings(values, expected):
    assert verdict(**values) == expected


@pytest.mark.slow
def test_a_quick_run_scores_every_text(speeches):
    trial = trials.try_claim("alibi-quality", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    for text in TEXTS:
        for arm in ARMS:
            assert all(map(math.isfinite, series[f"reported/{text}/{arm}"].values.values()))
    assert series["reported/test-obama/alibi"].items is not None
    assert series["reported/test-new/alibi"].items is not None
