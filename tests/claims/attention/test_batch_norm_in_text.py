"""The claim batch-norm-in-text: its verdict on made-up losses, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.attention.batch_norm_in_text import BATCH_SIZES, BatchNormInText
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import DIVERGED, close_values
from tests.claims.judging import judge, outcome


def values(*increases, noise=0.001):
    return {
        **{f"{size}/layer": close_values(4.0, noise) for size in BATCH_SIZES},
        **{
            f"{size}/batch": close_values(4.0 + increase, noise, shift=3)
            for size, increase in zip(BATCH_SIZES, increases, strict=True)
        },
    }


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        (values(0.3, 0.2, 0.1, 0.05), UPHELD),
        (values(0.3, 0.2, 0.1, -0.1), REFUTED),
        (values(0.3, 0.2, 0.1, 0.005), TOO_SMALL),
        (values(0.3, 0.2, 0.1, 0.05, noise=1), UNDECIDED),
        ({**values(0.3, 0.2, 0.1, 0.05), "4/batch": DIVERGED}, UPHELD),  # diverging is as bad as can be
    ],
)
def test_batch_norm_must_be_worse_at_every_batch_size(losses, verdict):
    assert judge(BatchNormInText, losses).verdict == verdict


def test_rms_norm_does_not_decide():
    losses = {**values(0.3, 0.2, 0.1, 0.05), "4/rms": close_values(5.0)}
    finding = judge(BatchNormInText, losses)
    assert finding.verdict == UPHELD
    assert outcome(finding, "RMS norm as good as layer norm, batch size 4") == REFUTED


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    trial = trials.try_claim("batch-norm-in-text", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(BatchNormInText.quantities)
    assert series["4/statistics"].values != series["4/batch"].values, "the statistics of the test batch are other ones"
    assert 0 < series["ngram/3"].values[0] < series["ngram/2"].values[0] < 4
