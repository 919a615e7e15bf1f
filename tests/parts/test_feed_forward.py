"""Feed-forward parts with one inner layer and with several: outputs, parameter names, initial weights, probes, gradients."""

import pytest
import torch
import torch.nn.functional as F

from glasshouse import models, parts
from glasshouse.inspection.capture import capture
from glasshouse.parts import feed_forward
from glasshouse.parts.feed_forward import _ExactGELU
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_files import model_spec
from tests.refusals import refused

ACTIVATIONS = {
    "relu": F.relu,
    "relu-squared": lambda x: F.relu(x) ** 2,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-exact": F.gelu,
    "gelu-sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
}
SMALL = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 24}


def test_every_feed_forward_part_but_swiglu_is_tested_here():
    assert set(catalogue.names("feed_forward")) == {*ACTIVATIONS, "relu-single-layer", "swiglu"}


@pytest.mark.parametrize("bias", [False, True])
def test_a_single_layer_is_one_square_matrix_and_an_activation(bias):
    part = parts.SingleLayerReLU(6, bias)
    x = torch.randn(2, 5, 6)
    assert torch.equal(part(x), F.relu(F.linear(x, part.linear.weight, part.linear.bias)))
    assert sum(parameter.numel() for parameter in part.parameters()) == 6 * 6 + bias * 6


def test_a_single_layer_has_no_inner_size():
    small, large = (
        models.build(model_spec(**{**SMALL, "feed_forward": inner}, activation="relu-single-layer"), 29, 12)
        for inner in (24, 48)
    )
    assert [tensor.shape for tensor in small.state_dict().values()] == [
        tensor.shape for tensor in large.state_dict().values()
    ]


@pytest.mark.parametrize("word", ACTIVATIONS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_an_activation_follows_every_inner_layer(word, bias, layers):
    torch.manual_seed(0)
    part = catalogue.find("feed_forward", word)(6, 10, bias, layers)
    matrices = [part.up, *(layer.across for layer in part.between)]
    assert [tuple(matrix.weight.shape) for matrix in matrices] == [(10, 6)] + (layers - 1) * [(10, 10)]
    x = torch.randn(2, 5, 6)
    expected = x
    for matrix in matrices:
        expected = ACTIVATIONS[word](matrix(expected))
    assert torch.equal(part(x), part.down(expected))
    count = 2 * 6 * 10 + (layers - 1) * 10 * 10 + bias * (layers * 10 + 6)
    assert sum(parameter.numel() for parameter in part.parameters()) == count


def test_parameter_names_and_initial_weights_with_one_inner_layer_have_not_changed():
    model = models.build(model_spec(width=16, layers=2, heads=2, bias=True), 29, 12, seed=0)
    names = [name for name in model.state_dict() if ".feed_forward." in name]
    ends = ("up.weight", "up.bias", "down.weight", "down.bias")
    assert names == [f"blocks.{block}.feed_forward.{end}" for block in (0, 1) for end in ends]
    # The sums of the weights of seed 0, recorded before several inner layers were possible. CPUs differ in the sixth digit.
    last = model.blocks[1].feed_forward
    sums = [float(matrix.weight.detach().double().sum()) for matrix in (last.up, last.down)]
    assert sums == pytest.approx([-1.45235, 0.47905], rel=1e-3)


def test_every_hidden_vector_can_be_captured():
    part = parts.ReLU(6, 10, feed_forward_layers=3)
    x = torch.randn(2, 5, 6)
    with capture(part, "**hidden") as captured:
        part(x)
    assert list(captured) == ["between.0.hidden", "between.1.hidden", "hidden"]
    assert torch.equal(captured["between.0.hidden"], part.up(x).relu())
    assert torch.equal(captured["hidden"], part.between[1].across(captured["between.1.hidden"]).relu())


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "swiglu"},
        {"activation": "relu-single-layer"},
        {"kind": "encoder", "activation": "swiglu"},
        {"kind": "recurrent"},
        {"kind": "recurrent", "activation": "swiglu"},
    ],
)
def test_several_inner_layers_are_refused_if_the_part_has_no_such_setting(settings):
    with refused(SpecError, "model.feed_forward_layers=2", "model.activation=relu"):
        models.check(model_spec(**SMALL, feed_forward_layers=2, **settings), context=12)
    models.check(model_spec(**SMALL, **settings), context=12)


def test_zero_inner_layers_are_refused():
    with refused(SpecError, "model.feed_forward_layers=0"):
        parts.GELU(6, 10, feed_forward_layers=0)


def test_the_backward_pass_of_exact_gelu_equals_that_of_torch():
    x = torch.linspace(-8, 8, 401, requires_grad=True)
    gradient = torch.linspace(1, 2, 401)
    (ours,) = torch.autograd.grad(_ExactGELU.apply(x), x, gradient)
    (theirs,) = torch.autograd.grad(F.gelu(x), x, gradient)
    torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=0)
    assert torch.equal(_ExactGELU.apply(x), F.gelu(x))


def test_exact_gelu_can_be_differentiated_twice_and_vectorised():
    x = torch.randn(6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(_ExactGELU.apply, (x,))
    batch = torch.randn(3, 4)
    derivative = torch.func.grad(lambda row: _ExactGELU.apply(row).sum())
    torch.testing.assert_close(torch.vmap(derivative)(batch), torch.stack([derivative(row) for row in batch]))


def test_our_backward_pass_of_exact_gelu_is_used_only_where_it_is_faster(monkeypatch):
    x = torch.randn(4, requires_grad=True)
    for on_arm, name in ((True, "_ExactGELUBackward"), (False, "GeluBackward0")):
        monkeypatch.setattr(feed_forward, "ON_ARM", on_arm)
        assert type(parts.ExactGELU(6, 10).activate(x).grad_fn).__name__ == name
