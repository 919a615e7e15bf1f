"""The lowest loss for a compute, and the compute for a loss."""

from dataclasses import replace

import numpy as np
import pytest

from glasshouse.scaling import loss_frontier, scaling_fit
from glasshouse.scaling.loss_frontier import PowerFrontier
from glasshouse.scaling.parametric_law import ParametricFit, ParametricLaw

from .known_law import BUDGETS, LAW, draw

FLOPS = np.array([1e15, 1e17, 1e20])


def fit_of(law: ParametricLaw) -> ParametricFit:
    """A fit whose resamples are the law itself and one with a higher floor."""
    laws = law.changed(lambda value: np.full(3, value))
    return ParametricFit(replace(laws, floor=law.floor + np.array([0, 0, 0.2])), np.zeros(9), 1.0, 0.0)


def test_the_frontier_of_the_parametric_law_is_the_loss_at_the_best_size():
    frontier = loss_frontier.parametric_frontier(fit_of(LAW), 6.0, None)
    assert isinstance(frontier, PowerFrontier)
    best = LAW.best_parameters(FLOPS / 6)
    losses = frontier.losses(np.log(FLOPS))
    np.testing.assert_allclose(losses[0], LAW.loss(best, FLOPS / 6 / best))
    np.testing.assert_allclose(losses[2], losses[0] + 0.2)
    np.testing.assert_allclose(frontier.log_flops(losses), np.broadcast_to(np.log(FLOPS), (3, 3)))


def test_the_frontier_of_repeated_data_is_the_lowest_loss_of_a_search():
    law, different = replace(LAW, repetitions=4.0), 1e8
    frontier = loss_frontier.parametric_frontier(fit_of(law), 6.0, different)
    losses = frontier.losses(np.log(FLOPS))
    for loss, flops in zip(losses[0], FLOPS, strict=True):
        best = law.best_parameters(flops / 6, different)
        assert loss == pytest.approx(law.loss(best, flops / 6 / best, different), rel=1e-4)
        assert loss <= law.loss(best, flops / 6 / best, different)
    np.testing.assert_allclose(frontier.log_flops(losses), np.broadcast_to(np.log(FLOPS), (3, 3)))


@pytest.mark.parametrize("repetitions", [None, 4.0])
def test_a_loss_below_the_floor_needs_infinite_compute(repetitions):
    law = replace(LAW, repetitions=repetitions)
    frontier = loss_frontier.parametric_frontier(fit_of(law), 6.0, 1e8)
    needed = frontier.log_flops(np.full((3, 1), LAW.floor - 0.01))
    assert np.isposinf(needed).all()


def test_the_lowest_losses_of_budgets_give_the_same_frontier():
    found = {each.method: each for each in loss_frontier.frontiers(scaling_fit.fit_laws(draw(0, noise=1e-4), resamples=20))}
    assert list(found) == list(loss_frontier.METHODS)
    isoflop, parametric = (found[method] for method in loss_frontier.METHODS)
    assert len(isoflop.points) == len(BUDGETS)
    assert (isoflop.lowest, isoflop.highest) == pytest.approx((BUDGETS[0], BUDGETS[-1]))
    log_budgets = np.log(BUDGETS)
    np.testing.assert_allclose(
        isoflop.frontier.losses(log_budgets)[0], parametric.frontier.losses(log_budgets)[0], rtol=0.01
    )


def test_two_budgets_have_no_curve_of_lowest_losses():
    found = loss_frontier.frontiers(scaling_fit.fit_laws(draw(0, budgets=BUDGETS[:2]), resamples=20))
    assert [each.method for each in found] == [scaling_fit.PARAMETRIC]
