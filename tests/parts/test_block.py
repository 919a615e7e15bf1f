"""A block built by hand."""

import torch

from glasshouse import parts


def test_a_transformer_reads_like_the_paper():
    width = 16
    block = parts.Block(
        attention=parts.MultiHeadAttention(width, heads=2, position=parts.Rotary(head_width=8)),
        feed_forward=parts.ReLU(width, 64),
        attention_connection=parts.PostNorm(parts.LayerNorm(width)),
        feed_forward_connection=parts.PostNorm(parts.LayerNorm(width)),
    )
    assert block(torch.randn(1, 3, width), parts.Causal(), torch.arange(3)).shape == (1, 3, width)
