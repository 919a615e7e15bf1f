"""Plans of scaling studies: shapes in the recipe's proportions, steps that cost the budget, and refusals."""

import math
from dataclasses import replace

import pytest

from glasshouse.runs import resolve_spec
from glasshouse.scaling import compute_optimal, scale_plan
from glasshouse.scaling.scaling_options import PlanOptions
from glasshouse.specs.errors import DataError, GlasshouseError, SpecError
from glasshouse.training import devices
from glasshouse.training.job import Job

WORDS = (
    "characters",
    "data.source=state-of-the-union",
    "data.vocabulary=128",
    "data.context=32",
    "model.width=32",
    "model.layers=2",
    "model.heads=2",
)


@pytest.fixture(scope="module")
def job():
    return Job.prepare(resolve_spec.spec_of(*WORDS), devices.pick("cpu"))


def test_every_run_costs_its_budget(job):
    plan = scale_plan.make_plan(job, [1e10, 4e10], PlanOptions(sizes=5))
    assert {size.budget for size in plan} == {1e10, 4e10}
    for size in plan:
        assert size.flops == pytest.approx(size.budget, rel=0.03)
        assert size.tokens == size.steps * job.spec.training.batch * job.spec.data.context
        assert size.epochs == pytest.approx(size.tokens / scale_plan.train_tokens(job))
        assert 0.5 <= size.shape.model.width / size.shape.model.layers / 16 <= 2
        assert size.shape.model.width % size.shape.model.heads == 0

    for budget in (1e10, 4e10):
        sizes = [size.shape.parameters[compute_optimal.WITH_HEAD] for size in plan if size.budget == budget]
        assert sizes == sorted(set(sizes))
        middle = math.sqrt(budget / 120)
        assert sizes[0] == pytest.approx(middle / 4, rel=0.5)
        assert sizes[-1] == pytest.approx(middle * 4, rel=0.5)


@pytest.mark.parametrize(
    ("budgets", "options", "code"),
    [
        ([1e10], {}, GlasshouseError),
        ([1e10, 4e10], {"sizes": 2}, SpecError),
        ([1e10, -1.0], {}, DataError),
        ([1e10, 1e41], {}, DataError),
        ([1e39, 1e40], {}, SpecError),
        ([1e7, 1e10], {}, SpecError),
        ([1e10, 4e10], {"tokens_per_parameter": 0.01}, SpecError),
    ],
)
def test_impossible_plans_are_refused(job, budgets, options, code):
    with pytest.raises(GlasshouseError) as caught:
        scale_plan.make_plan(job, budgets, PlanOptions(**options))
    assert isinstance(caught.value, code)


def test_a_plan_that_repeats_the_data_too_often_is_refused(job):
    with pytest.raises(SpecError):
        scale_plan.make_plan(job, [1e10, 4e10], PlanOptions(most_epochs=0.01))


@pytest.mark.parametrize("field", ["batch_warmup", "window_warmup"])
def test_runs_that_branch_have_no_settings_that_are_shares_of_their_steps(job, field):
    changes = {"own": {field: 0.5}} if field == "window_warmup" else {field: 0.5}
    training = replace(job.spec.training, schedule=scale_plan.BRANCHING, **changes)
    with pytest.raises(GlasshouseError) as caught:
        scale_plan.make_plan(replace(job, spec=replace(job.spec, training=training)), [1e10, 4e10], PlanOptions())
    assert isinstance(caught.value, SpecError)
