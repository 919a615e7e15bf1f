"""A block built by hand. Cross-attention against its formula, and padding of the source."""

import torch

from glasshouse import models, parts
from glasshouse.specs.spec_files import model_spec
from tests.parts.attention import projections


def test_without_norms_and_with_a_single_layer_a_block_is_two_residuals():
    """Attention, residual, one linear layer with ReLU, residual."""
    block = models.build(
        model_spec(width=16, layers=1, heads=1, norm="none", activation="relu-single-layer"), 29, 12
    ).blocks[0]
    x, positions = torch.randn(2, 5, 16), torch.arange(5)
    middle = x + block.attention(x, parts.Causal(), positions)
    expected = middle + block.feed_forward.linear(middle).relu()
    assert torch.equal(block(x, parts.Causal(), positions), expected)


def test_a_transformer_reads_like_the_paper():
    width = 16
    block = parts.Block(
        attention=parts.MultiHeadAttention(width, heads=2, position=parts.Rotary(head_width=8)),
        feed_forward=parts.ReLU(width, 64),
        attention_connection=parts.PostNorm(parts.LayerNorm(width)),
        feed_forward_connection=parts.PostNorm(parts.LayerNorm(width)),
    )
    assert block(torch.randn(1, 3, width), parts.Causal(), torch.arange(3)).shape == (1, 3, width)


def test_cross_attention_attends_to_another_sequence():
    cross = parts.CrossAttention(parts.MultiHeadAttention(8, 2))
    attention = cross.attention
    x, source = torch.randn(2, 3, 8), torch.randn(2, 6, 8)
    queries = projections.project(attention, x)[0]
    keys, values = projections.project(attention, source)[1:]
    weights = (queries @ keys.transpose(-2, -1) / 2).softmax(-1)
    expected = projections.output(attention, weights @ values)
    torch.testing.assert_close(cross(x, parts.Memory(source), torch.arange(3)), expected, rtol=1e-5, atol=1e-5)
    padded = torch.cat([source, torch.randn(2, 2, 8)], 1)
    torch.testing.assert_close(
        cross(x, parts.Memory(padded, torch.tensor([6, 6])), torch.arange(3)),
        cross(x, parts.Memory(source), torch.arange(3)),
        rtol=1e-5,
        atol=1e-5,
    )
