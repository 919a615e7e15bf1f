"""Equal compute: the formulas agree with the model and the list, and every arm's FLOPs are those of its budget."""

import math

import pytest
import torch

from glasshouse import models
from glasshouse.claims.scaling import equal_compute, isoflop_extrapolation
from glasshouse.claims.scaling.compute_optimal_width import BUDGET, ComputeOptimalWidth
from glasshouse.claims.scaling.isoflop_extrapolation import IsoFLOPExtrapolation, study_name
from glasshouse.claims.translation import course_translator
from glasshouse.models import parameter_counts
from glasshouse.runs import resolve_spec
from glasshouse.scaling import compute_optimal
from tests import needs

BUDGETS = {
    "equal-compute": BUDGET,
    **{study_name(name): flops for name, flops in isoflop_extrapolation.BUDGETS.items()},
}
PLANS = (*ComputeOptimalWidth.studies, *IsoFLOPExtrapolation.studies)


def model_of(*overrides: str):
    spec = resolve_spec.spec_of(equal_compute.RECIPE, *course_translator.LAYER, *overrides)
    assert (spec.model.layers, spec.training.batch) == (equal_compute.LAYERS, equal_compute.BATCH)
    with torch.device("meta"):
        return models.assemble(spec.model, equal_compute.VOCABULARY, spec.data.context)


@pytest.mark.parametrize("width", [16, 96])
def test_flops_and_parameters_are_those_of_the_model(width):
    model = model_of(f"model.width={width}")
    flops = 3 * model.flops(equal_compute.TOKENS) * equal_compute.BATCH
    assert equal_compute.step_flops(width) == flops
    by_part = parameter_counts.parameters_by_part(model)
    assert equal_compute.parameters(width) == compute_optimal.count_parameters(by_part, compute_optimal.WITH_HEAD)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_every_arm_takes_the_flops_of_its_budget_and_ten_evaluations(plan):
    for name, parts in plan.recipes.items():
        spec = resolve_spec.spec_of(*parts, *course_translator.LAYER, *plan.words[len(plan.recipes) :])
        assert name == equal_compute.arm_name(plan.name, spec.model.width)
        steps = spec.training.steps
        flops = steps * equal_compute.step_flops(spec.model.width)
        assert flops == pytest.approx(BUDGETS[plan.name], rel=0.02)
        assert math.ceil(steps / spec.evaluation.every) in (10, 11)
        assert spec.training.epochs == 0


def test_the_arms_of_all_budgets_have_different_names():
    names = [name for plan in IsoFLOPExtrapolation.studies for name in plan.recipes]
    assert len(names) == len(set(names))


def test_a_wider_model_reads_fewer_tokens_for_the_same_budget():
    narrow, wide = (equal_compute.tokens_for(width, 1e12) for width in (32, 64))
    assert narrow == 1e12 / equal_compute.step_flops(32) * 64 * 20
    assert narrow > 3 * wide


@needs.needs_data
def test_the_tokens_are_the_mean_length_of_the_course_list():
    path = needs.data("piglatin/pig_latin_small.txt")
    pairs = [line.split() for line in path.read_text().splitlines() if line.strip()]
    mean = sum(len(word) + len(translation) + 2 for word, translation in pairs) / len(pairs)
    assert math.ceil(mean) == equal_compute.TOKENS
