"""Feed-forward parts with one inner layer and with several: what they compute, are called, begin with, cost and refuse."""

import math

import pytest
import torch
import torch.nn.functional as F

from glasshouse import models, parts
from glasshouse.inspection.capture import capture
from glasshouse.models import parameter_counts
from glasshouse.specs import catalogue
from glasshouse.specs.spec_files import model_spec
from tests.refusals import refused

PLAIN = {
    "relu": F.relu,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-exact": F.gelu,
    "gelu-sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
}
SMALL = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 24}


def test_every_feed_forward_part_is_plain_or_gated():
    assert set(catalogue.names("feed_forward")) == {*PLAIN, "swiglu"}


@pytest.mark.parametrize("word", PLAIN)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_an_activation_stands_after_every_inner_layer(word, bias, layers):
    torch.manual_seed(0)
    part = catalogue.find("feed_forward", word)(6, 10, bias, layers)
    matrices = [part.up, *(layer.across for layer in part.between)]
    assert [tuple(matrix.weight.shape) for matrix in matrices] == [(10, 6)] + (layers - 1) * [(10, 10)]
    x = torch.randn(2, 5, 6)
    expected = x
    for matrix in matrices:
        expected = PLAIN[word](matrix(expected))
    assert torch.equal(part(x), part.down(expected))
    numbers = 2 * 6 * 10 + (layers - 1) * 10 * 10 + bias * (layers * 10 + 6)
    assert sum(parameter.numel() for parameter in part.parameters()) == numbers


@pytest.mark.parametrize(("layers", "bias"), [(1, False), (2, True), (3, False)])
def test_a_models_counts_follow_the_inner_layers(layers, bias):
    model = models.build(model_spec(**SMALL, bias=bias, feed_forward_layers=layers), 29, 12)
    part = 2 * 16 * 24 + (layers - 1) * 24 * 24 + bias * (layers * 24 + 16)
    assert parameter_counts.parameters_by_part(model)["blocks: feed forward"] == 2 * part
    one = models.build(model_spec(**SMALL, bias=bias), 29, 12)
    assert model.flops(12) - one.flops(12) == 2 * (layers - 1) * 2 * 12 * 24 * 24, "two blocks, two FLOPs a number and token"


def test_one_inner_layer_has_the_names_and_the_first_weights_that_it_always_had():
    model = models.build(model_spec(width=16, layers=2, heads=2, bias=True), 29, 12, seed=0)
    names = [name for name in model.state_dict() if ".feed_forward." in name]
    ends = ("up.weight", "up.bias", "down.weight", "down.bias")
    assert names == [f"blocks.{block}.feed_forward.{end}" for block in (0, 1) for end in ends]
    # Sums of what seed 0 drew before there could be several inner layers. Processors differ in the sixth digit.
    last = model.blocks[1].feed_forward
    sums = [float(matrix.weight.detach().double().sum()) for matrix in (last.up, last.down)]
    assert sums == pytest.approx([-1.45235, 0.47905], rel=1e-3)


def test_only_the_last_matrix_of_a_branch_begins_smaller():
    model = models.build(
        model_spec(width=64, layers=8, heads=2, feed_forward=256, feed_forward_layers=3), 29, 12
    ).requires_grad_(False)
    for block in model.blocks:
        part = block.feed_forward
        drawn = [
            matrix.weight.std() * math.sqrt(matrix.in_features) for matrix in (*(b.across for b in part.between), part.up)
        ]
        assert torch.stack(drawn).tolist() == pytest.approx([0.5, 0.5, 0.5], rel=0.05)
        assert float(part.down.weight.std()) * math.sqrt(256) == pytest.approx(0.5 / math.sqrt(2 * 8), rel=0.05)


def test_every_hidden_vector_can_be_read():
    part = parts.ReLU(6, 10, layers=3)
    x = torch.randn(2, 5, 6)
    with capture(part, "**hidden") as seen:
        part(x)
    assert list(seen) == ["between.0.hidden", "between.1.hidden", "hidden"]
    assert torch.equal(seen["between.0.hidden"], part.up(x).relu())
    assert torch.equal(seen["hidden"], part.between[1].across(seen["between.1.hidden"]).relu())


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "swiglu"},
        {"kind": "encoder", "activation": "swiglu"},
        {"kind": "recurrent"},
        {"kind": "recurrent", "activation": "swiglu"},
    ],
)
def test_several_inner_layers_are_refused_where_there_can_be_none(settings):
    with refused("undeclared-setting", "model.feed_forward_layers=2", "model.activation=relu"):
        models.check(model_spec(**SMALL, feed_forward_layers=2, **settings), context=12)
    models.check(model_spec(**SMALL, **settings), context=12)


def test_both_sides_of_a_dual_encoder_have_as_many_inner_layers():
    spec = model_spec(**SMALL, kind="dual-encoder", image_size=24, image_feed_forward=40, feed_forward_layers=3)
    model = models.build(spec, 29, 12)
    sides = [side.blocks[0].feed_forward.between for side in (model.text, model.image)]
    assert [[layer.across.in_features for layer in side] for side in sides] == [[24, 24], [40, 40]]


def test_no_inner_layer_is_refused():
    with refused("no-layers", "model.feed_forward_layers=0"):
        parts.GELU(6, 10, layers=0)
