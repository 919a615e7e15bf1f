"""Attention itself: masks, fully masked rows, heads against a loop over heads, and the mathematics of positions."""

import math

import pytest
import torch

from glasshouse import parts
from glasshouse.parts.attention import scaled_dot_product


def test_a_fully_masked_row_gives_zeros_and_no_nan():
    scores = torch.randn(1, 1, 3, 4, requires_grad=True)
    allowed = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    weights = scaled_dot_product.weights(scores, allowed)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([[[1.0, 0.0, 1.0]]]))
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    values = torch.randn(1, 1, 4, 8)
    fused = scaled_dot_product.fused(torch.randn(1, 1, 3, 8), torch.randn(1, 1, 4, 8), values, allowed, None, False, 0.0)
    assert torch.equal(fused[0, 0, 1], torch.zeros(8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_masked_weights_are_exactly_zero_in_every_format(dtype):
    weights = scaled_dot_product.weights(torch.randn(2, 3, 3).to(dtype) * 50, torch.ones(3, 3, dtype=torch.bool).tril())
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    assert weights.isfinite().all()


def test_heads_together_equal_a_loop_over_heads():
    attention = parts.MultiHeadAttention(width=12, heads=3)
    x = torch.randn(2, 5, 12)
    together = attention(x, parts.Causal(), torch.arange(5))
    queries, keys, values = attention.projection(x).chunk(3, dim=-1)
    outputs = []
    for head in range(3):
        part = slice(4 * head, 4 * head + 4)
        scores = queries[..., part] @ keys[..., part].transpose(1, 2) / math.sqrt(4)
        weights = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).softmax(-1)
        outputs.append(weights @ values[..., part])
    torch.testing.assert_close(together, attention.output(torch.cat(outputs, -1)), rtol=1e-5, atol=1e-5)


def test_without_a_mask_order_is_invisible():
    attention = parts.MultiHeadAttention(width=8, heads=2)
    x, order = torch.randn(1, 6, 8), torch.randperm(6)
    positions = torch.arange(6)
    straight = attention(x, parts.Everything(), positions)
    torch.testing.assert_close(attention(x[:, order], parts.Everything(), positions), straight[:, order])


def test_masks_combine():
    class Near(parts.Mask):
        def allowed(self, queries, keys):
            return queries[..., :, None] - keys[..., None, :] < 2

    positions = torch.arange(4)
    both = (parts.Causal() & Near()).allowed(positions, positions)
    assert both.tolist() == (torch.ones(4, 4).tril() - torch.ones(4, 4).tril(-2)).bool().tolist()
    assert (parts.Everything() & parts.Everything()).allowed(positions, positions) is None
    assert not (parts.Causal() & Near()).plainly_causal


def test_rotary_scores_depend_on_distance_alone():
    rotary = parts.Rotary(head_width=8)
    query, key = torch.randn(8), torch.randn(8)

    def score(i, j):
        turned = rotary.rotate(query.expand(1, 1, 1, 8), torch.tensor([i]))
        other = rotary.rotate(key.expand(1, 1, 1, 8), torch.tensor([j]))
        return (turned * other).sum()

    torch.testing.assert_close(score(3, 1), score(103, 101), rtol=1e-4, atol=1e-4)
    assert not torch.isclose(score(3, 1), score(4, 1))


@pytest.mark.parametrize(("kind", "distance_alone"), [(parts.MultiHeadAttention, True), (parts.AdditiveAttention, False)])
def test_rotary_is_a_code_of_distances_to_a_product_and_of_places_to_a_sum(kind, distance_alone):
    torch.manual_seed(0)
    attention = kind(width=16, heads=2, position=parts.Rotary(head_width=8))
    x, near = torch.randn(1, 6, 16), torch.arange(6)
    here, there = (attention(x, parts.Causal(), near + start) for start in (0, 7))
    assert torch.allclose(here, there, rtol=1e-4, atol=1e-4) is distance_alone
    order = torch.tensor([1, 0, 2, 3, 4, 5])
    swapped = attention(x[:, order], parts.Everything(), near)[:, order]
    assert not torch.allclose(swapped, attention(x, parts.Everything(), near), atol=1e-3), "order is visible"


def test_sinusoids_are_as_published():
    sinusoidal = parts.Sinusoidal(width=6)
    embedded = sinusoidal.embed(torch.zeros(1, 4, 6), torch.arange(4))[0]
    assert torch.allclose(embedded[3, 1], torch.tensor(math.sin(3 / 10000 ** (2 / 6))))
    assert torch.allclose(embedded[3, 4], torch.tensor(math.cos(3 / 10000 ** (2 / 6))))


def test_a_transformer_reads_like_the_paper():
    width = 16
    block = parts.Block(
        attention=parts.MultiHeadAttention(width, heads=2, position=parts.Rotary(head_width=8)),
        feed_forward=parts.ReLU(width, 64),
        attention_connection=parts.PostNorm(parts.LayerNorm(width)),
        feed_forward_connection=parts.PostNorm(parts.LayerNorm(width)),
    )
    assert block(torch.randn(1, 3, width), parts.Causal(), torch.arange(3)).shape == (1, 3, width)
