"""The claim mlm-steps: the step of convergence from a loss curve, and the comparison of steps."""

import math

import pytest

from glasshouse.claims import rules
from glasshouse.claims.claim import REFUTED, UPHELD
from glasshouse.claims.pretraining import mlm_steps
from tests.claims.example_values import spread_values


def test_convergence_is_a_share_of_the_improvement_of_the_same_curve():
    curve = [(100, 2.0), (200, 1.0), (300, 1.0)]
    assert mlm_steps.convergence_step(5.0, curve, 0.5) == pytest.approx(100 * 2 / 3)  # between the losses 5 and 2
    assert mlm_steps.convergence_step(5.0, curve, 0.75) == pytest.approx(100)
    assert mlm_steps.convergence_step(5.0, curve, 0.95) == pytest.approx(180)
    assert mlm_steps.convergence_step(5.0, [*curve, (400, 3.0)], 0.95) == pytest.approx(180)  # a later rise does not count
    assert math.isnan(mlm_steps.convergence_step(1.0, curve, 0.95))
    assert math.isnan(mlm_steps.convergence_step(5.0, [], 0.95))
    scaled = [(step, 10 * loss) for step, loss in curve]
    assert mlm_steps.convergence_step(50.0, scaled, 0.9) == pytest.approx(mlm_steps.convergence_step(5.0, curve, 0.9))


def test_the_late_share_is_the_improvement_in_the_last_quarter():
    assert mlm_steps.late_share(5.0, [(25, 3.0), (50, 2.0), (75, 1.5), (100, 1.0)]) == pytest.approx(0.125)
    assert mlm_steps.late_share(5.0, [(25, 3.0), (50, 1.0), (75, 1.0), (100, 1.2)]) == 0


def test_the_loss_before_the_first_step_comes_from_the_metric_log():
    rows = [{"step": 1, "loss": 6.0}, {"step": 2, "loss": 5.0}, {"step": 2, "validation.loss": 4.5}]
    assert mlm_steps.loss_curve(rows) == (6.0, [(2, 4.5)])


def test_steps_are_compared_in_pairs_of_seeds():
    more = mlm_steps.compare_steps(spread_values(300, 500), spread_values(500, 500, shift=3))
    fewer = mlm_steps.compare_steps(spread_values(500, 500), spread_values(300, 500, shift=3))
    assert rules.direction(more, "worse") == UPHELD
    assert rules.direction(fewer, "worse") == REFUTED
