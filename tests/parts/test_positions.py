"""Positions against what was published: slopes, buckets, distances, and relative attention as a convolution."""

import math

import pytest
import torch

from glasshouse import parts
from glasshouse.parts.positions.alibi import slopes


def test_alibi_slopes_are_those_of_the_paper():
    assert slopes(8) == [1 / 2**n for n in range(1, 9)]
    assert slopes(16)[0] == pytest.approx(2**-0.5)
    # For twelve heads: those of eight, then every other one of sixteen.
    assert slopes(12) == pytest.approx([1 / 2**n for n in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])


def test_alibi_falls_in_a_straight_line_with_distance():
    bias = parts.Alibi(heads=2).bias(torch.tensor([5]), torch.arange(8))
    assert bias.shape == (2, 1, 8)
    torch.testing.assert_close(bias[0, 0], -(2**-4) * (torch.arange(8) - 5).abs().float())


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_t5(causal):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5", reason="transformers is not installed")
    distance = torch.arange(-300, 301)
    ours = parts.BucketedBias(heads=2, causal=causal).bucket(distance)
    theirs = t5.T5Attention._relative_position_bucket(-distance, bidirectional=not causal)
    assert torch.equal(ours, theirs)


def test_a_relative_bias_depends_on_distance_and_ends_at_the_furthest():
    position = parts.RelativeBias(furthest=3, heads=2)
    with torch.no_grad():
        position.table.copy_(torch.randn(7, 2))
    bias = position.bias(torch.arange(20), torch.arange(20))
    assert bias.shape == (2, 20, 20)
    assert torch.equal(bias[:, 4, 2], bias[:, 14, 12])
    assert torch.equal(bias[:, 19, 0], bias[:, 3, 0])
    assert torch.equal(bias[:, 4, 5], position.table[2])


def test_relative_attention_can_be_a_convolution():
    # y_i = 2 x_(i-1) + x_(i+1): p_1 = ln 2, p_(-1) = 0, all others out of reach, W_V = 3.
    position = parts.RelativeBias(furthest=2, heads=1)
    attention = parts.MultiHeadAttention(width=1, heads=1, position=position, bias=False)
    with torch.no_grad():
        attention.projection.weight.copy_(torch.tensor([[0.0], [0.0], [3.0]]))
        attention.output.weight.fill_(1.0)
        position.table.copy_(torch.tensor([[-1e30], [0.0], [-1e30], [math.log(2)], [-1e30]]))
    x = torch.randn(1, 9, 1)
    y = attention(x, parts.Everything(), torch.arange(9))
    torch.testing.assert_close(y[:, 1:-1], 2 * x[:, :-2] + x[:, 2:], rtol=1e-5, atol=1e-5)


def test_one_hot_adds_a_one_at_its_place():
    embedded = parts.OneHot(context=4, width=6).embed(torch.zeros(1, 3, 6), torch.arange(3))[0]
    assert torch.equal(embedded, torch.eye(6)[:3])
