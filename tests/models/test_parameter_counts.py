"""Counts of parameters and FLOPs for feed-forward parts with several inner layers."""

import pytest

from glasshouse import models
from glasshouse.models import parameter_counts
from glasshouse.specs.spec_files import model_spec
from tests.models.small_models import SMALL


@pytest.mark.parametrize(("layers", "bias"), [(1, False), (2, True), (3, False)])
def test_a_models_counts_follow_the_inner_layers(layers, bias):
    sizes = {**SMALL, "feed_forward": 24}
    model = models.build(model_spec(**sizes, bias=bias, feed_forward_layers=layers), 29, 12)
    per_block = 2 * 16 * 24 + (layers - 1) * 24 * 24 + bias * (layers * 24 + 16)
    assert parameter_counts.parameters_by_part(model)["blocks: feed forward"] == 2 * per_block
    one = models.build(model_spec(**sizes, bias=bias), 29, 12)
    # Two blocks; two FLOPs for each weight and token.
    assert model.flops(12) - one.flops(12) == 2 * (layers - 1) * 2 * 12 * 24 * 24
