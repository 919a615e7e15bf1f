"""Relative position biases depend on the distance alone, and can make attention a convolution; buckets are those of T5."""

import math

import pytest
import torch

from glasshouse import parts
from tests import needs


def test_a_relative_bias_depends_on_distance_and_ends_at_the_furthest():
    position = parts.RelativeBias(context=4, heads=2)
    with torch.no_grad():
        position.table.copy_(torch.randn(7, 2))
    bias = position.bias(torch.arange(20), torch.arange(20))
    assert bias.shape == (2, 20, 20)
    assert torch.equal(bias[:, 4, 2], bias[:, 14, 12])
    assert torch.equal(bias[:, 19, 0], bias[:, 3, 0])
    assert torch.equal(bias[:, 4, 5], position.table[2])


def test_relative_attention_can_be_a_convolution():
    # y_i = 2 x_(i-1) + x_(i+1): p_1 = ln 2, p_(-1) = 0, all other biases are -1e30, W_V = 3.
    position = parts.RelativeBias(context=3, heads=1)
    attention = parts.MultiHeadAttention(width=1, heads=1, position=position, bias=False)
    with torch.no_grad():
        attention.projection.weight.copy_(torch.tensor([[0.0], [0.0], [3.0]]))
        attention.output.weight.fill_(1.0)
        position.table.copy_(torch.tensor([[-1e30], [0.0], [-1e30], [math.log(2)], [-1e30]]))
    x = torch.randn(1, 9, 1)
    y = attention(x, parts.Everything(), torch.arange(9))
    torch.testing.assert_close(y[:, 1:-1], 2 * x[:, :-2] + x[:, 2:], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_t5(causal):
    t5 = needs.package("transformers.models.t5.modeling_t5")
    distance = torch.arange(-300, 301)
    ours = parts.BucketedBias(heads=2, causal=causal).bucket(distance)
    theirs = t5.T5Attention._relative_position_bucket(-distance, bidirectional=not causal)
    assert torch.equal(ours, theirs)
