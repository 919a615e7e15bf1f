"""The claim mlm-steps: the step of convergence from a loss curve, its parts on made-up values, and a quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining import mlm_steps
from glasshouse.claims.pretraining.mlm_steps import DECIDING_SHARE, LEFT, MASKED, RATES, SHARES, MLMSteps, steps_key
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UPHELD
from glasshouse.specs.errors import RunError
from tests.claims.example_values import DIVERGED, close_values
from tests.claims.judging import judge
from tests.refusals import refused


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


def values(left=140.0, masked=350.0, **masked_at):
    means = {rate: masked_at.get(f"at_{rate.replace('-', '_')}", masked) for rate in RATES}
    series = {}
    for rate, mean in means.items():
        series[steps_key(rate, DECIDING_SHARE, LEFT)] = close_values(left, 10.0)
        series[steps_key(rate, DECIDING_SHARE, MASKED)] = close_values(mean, 10.0, shift=3)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"masked": 20.0}, REFUTED),
        ({"masked": 150.0}, TOO_SMALL),  # less than the distance of two evaluations
        ({"at_4e_3": 20.0}, DEPENDS),
    ],
)
def test_masked_pretraining_must_need_more_steps_at_every_learning_rate(changes, verdict):
    assert judge(MLMSteps, values(**changes)).verdict == verdict


def test_a_kind_that_diverged_in_every_seed_has_not_converged():
    series = values()
    for rate in RATES:
        series[steps_key(rate, DECIDING_SHARE, MASKED)] = DIVERGED
    assert judge(MLMSteps, series).verdict == UPHELD


def test_a_study_without_a_finished_run_is_refused():
    with refused(RunError, "'masked'"):
        mlm_steps.first_run([], "masked")


@pytest.mark.slow
def test_a_quick_run_measures_both_kinds_at_every_learning_rate_and_share():
    trial = trials.try_claim("mlm-steps", quick=True, device="cpu").trials[-1]
    keys = {steps_key(rate, share, kind) for rate in RATES for share in SHARES for kind in (LEFT, MASKED)}
    assert keys < set(trial.measured.series)
    assert all(0 < step <= 4 for key in keys for step in trial.measured.series[key].values.values())
    predictions = trial.measured.series["predictions/masked"].values
    steps = trial.measured.series[steps_key("2e-3", DECIDING_SHARE, MASKED)].values
    assert predictions[0] == pytest.approx(steps[0] * 0.15 * 32 * 32)
