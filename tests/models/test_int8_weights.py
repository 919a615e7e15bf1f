"""Weights of 8 bits: almost the same logits, and rows that do not depend on each other."""

import copy

import pytest
import torch

from glasshouse import models
from glasshouse.models.int8_weights import Int8Linear, can_have_int8_weights, with_int8_weights
from glasshouse.specs.spec import ModelSpec

VOCABULARY, CONTEXT = 60, 16


def build(**settings):
    torch.manual_seed(0)
    return models.build(ModelSpec(width=32, layers=2, **settings), VOCABULARY, CONTEXT).eval()


@pytest.mark.parametrize(
    "settings",
    [{}, {"position": "learned", "norm": "layer", "activation": "gelu", "bias": True, "tied": False}],
    ids=["llama", "gpt-2"],
)
@torch.inference_mode()
def test_logits_are_almost_the_same(settings):
    model = build(**settings)
    assert can_have_int8_weights(model)
    smaller = with_int8_weights(copy.deepcopy(model))
    assert not [module for module in smaller.blocks.modules() if isinstance(module, torch.nn.Linear)]
    tokens = torch.randint(0, VOCABULARY, (5, CONTEXT))
    exact, rounded = model(tokens).log_softmax(-1), smaller(tokens).log_softmax(-1)
    assert not torch.equal(exact, rounded)
    assert (exact.exp() * (exact - rounded)).sum(-1).mean() < 0.01


@torch.inference_mode()
def test_a_matrix_of_8_bits():
    torch.manual_seed(0)
    weight, bias, x = (
        torch.randn(7, 40),
        torch.randn(7),
        torch.randn(3, 5, 40) * torch.tensor([1e-3, 1.0, 1e3])[:, None, None],
    )
    expected = torch.nn.functional.linear(x, weight, bias)
    assert ((Int8Linear(weight, bias)(x) - expected).norm(dim=(1, 2)) < 0.03 * expected.norm(dim=(1, 2))).all()
    layer = Int8Linear(weight, bias)
    assert torch.equal(layer(x[1:2]), layer(x)[1:2]), "a row does not depend on the others"
    zeros = Int8Linear(torch.zeros(7, 40), None)(torch.zeros(1, 40))
    assert torch.equal(zeros, torch.zeros(1, 7))


def test_other_models_cannot_have_them():
    encoder = models.build(ModelSpec(kind="encoder", width=32, layers=1), VOCABULARY, CONTEXT)
    assert not can_have_int8_weights(encoder)
