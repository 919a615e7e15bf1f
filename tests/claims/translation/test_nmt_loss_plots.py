"""The claim nmt-loss-plots: its verdict on made-up losses, mean curves, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.translation import nmt_loss_plots
from glasshouse.claims.translation.nmt_loss_plots import NMTLossPlots
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import spread_values
from tests.claims.judging import judge

REPORTED_ORDER = {(32, "small"): 0.8, (32, "large"): 1.1, (64, "small"): 0.5, (64, "large"): 0.7}


@pytest.mark.parametrize(
    ("changes", "noise", "verdict"),
    [
        ({}, 1, UPHELD),
        ({(64, "large"): 0.4}, 1, REFUTED),
        ({(64, "large"): 0.505}, 1, TOO_SMALL),
        ({(64, "large"): 0.52}, 3, UNDECIDED),
    ],
)
def test_all_four_orders_must_hold(changes, noise, verdict):
    means = {**REPORTED_ORDER, **changes}
    values = {
        f"course/test.loss/{width}/{size}": spread_values(mean, noise, shift=index)
        for index, ((width, size), mean) in enumerate(means.items())
    }
    assert judge(NMTLossPlots, values).verdict == verdict


def test_the_mean_curve_and_the_share_of_steps_at_which_a_curve_is_lower():
    low = {0: [(1, 3.0), (2, 1.0)], 1: [(1, 5.0), (2, 1.0)]}
    high = {0: [(1, 3.5), (2, 2.0)], 1: [(1, 3.5)], 2: [(1, 1.0)]}
    assert nmt_loss_plots.mean_curve(low) == ((1.0, 4.0), (2.0, 1.0))
    assert nmt_loss_plots.shares_below(low, high).values == {0: 1.0, 1: 0.0}
    assert nmt_loss_plots.shares_below({0: []}, high).values == {}


@pytest.mark.slow
def test_a_quick_run_keeps_the_curves(word_lists):
    trial = trials.try_claim("nmt-loss-plots", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(NMTLossPlots.quantities)
    assert len(trial.measured.curves) == 8
    [(step, loss)] = trial.measured.curves["curves-course/h 64, small list"]
    lowest = trial.measured.series["course/validation.loss/64/small"].values
    assert step == 2
    assert loss == pytest.approx(sum(lowest.values()) / len(lowest), rel=1e-4)
    assert {figure.name for figure in NMTLossPlots.figures} == {name.partition("/")[0] for name in trial.measured.curves}
