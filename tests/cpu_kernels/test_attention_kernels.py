"""The kernels for short texts and for rotary positions equal the plain operations, whatever lies in memory."""

import pytest
import torch
from torch import Tensor

from glasshouse import cpu_kernels
from glasshouse.parts.attention import dot_product, scaled_dot_product
from glasshouse.parts.attention.base import AttentionInputs
from glasshouse.parts.masks import Causal, Everything, Mask, Padding, SameText
from glasshouse.parts.positions.base import NoPosition, rotate_by
from glasshouse.parts.positions.rotary import Rotary
from tests.cpu_kernels.comparison import largest_difference, normal

BATCH, HEADS, TOKENS, WIDTH = 5, 3, 37, 36


def by_short_text_kernel(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, aligned: bool) -> Tensor | None:
    positions = torch.arange(queries.shape[2])
    others = positions if aligned else positions.clone()
    inputs = AttentionInputs(queries, keys, values, mask, positions, others, NoPosition(), 0.0)
    return dot_product.by_short_text_kernel(inputs)


def plain(mask: Mask, tokens: int):
    def mix(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        positions = torch.arange(tokens)
        allowed = scaled_dot_product.allowed_over_heads(mask, positions, positions)
        weights = scaled_dot_product.weights(scaled_dot_product.scores(queries, keys, None), allowed)
        return weights @ values

    return mix


@pytest.mark.parametrize("threads", [1, 2])
def test_texts_of_one_length_are_mixed_as_by_the_reference(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        # Queries and values as a projection leaves them, keys in another order of memory.
        queries, keys, values = (normal(BATCH, TOKENS, 3 * HEADS * WIDTH + i) for i in range(3))
        queries, values = (x[..., : HEADS * WIDTH].unflatten(-1, (HEADS, WIDTH)).transpose(1, 2) for x in (queries, values))
        keys = keys[..., : HEADS * WIDTH].unflatten(-1, (HEADS, WIDTH)).transpose(1, 2).contiguous()

        def own(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            mixed = by_short_text_kernel(queries, keys, values, Causal(), aligned=True)
            assert mixed is not None
            return mixed

        assert largest_difference(own, plain(Causal(), TOKENS), queries, keys, values) < 3e-6
    finally:
        torch.set_num_threads(before)


def test_packed_texts_see_themselves_only():
    lengths = (1, 0, 7, 64, 3, 30)
    bounds, tokens = torch.tensor([0, *lengths]).cumsum(0), sum(lengths)
    mask = SameText(bounds, max(lengths))
    inputs = [normal(1, HEADS, tokens, 64 + i, scale=i + 1.0)[..., :64] for i in range(3)]

    def own(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        mixed = by_short_text_kernel(queries, keys, values, mask, aligned=False)
        assert mixed is not None
        return mixed

    assert largest_difference(own, plain(mask, tokens), *inputs) < 5e-6


def test_other_masks_longer_texts_and_evaluation_have_no_kernel():
    x = normal(BATCH, HEADS, 40, WIDTH).requires_grad_()
    long = normal(1, HEADS, dot_product.SHORT + 1, 4 * WIDTH).requires_grad_()
    find = by_short_text_kernel
    assert find(x, x, x, Causal(), aligned=True) is not None
    assert find(x, x, x, Causal(), aligned=False) is None
    assert find(x, x, x, Everything(), aligned=True) is None
    assert find(x, x, x, Padding([3] * BATCH), aligned=True) is None
    assert find(long, long, long, Causal(), aligned=True) is None
    with torch.no_grad():
        assert find(x, x, x, Causal(), aligned=True) is None


def test_keys_that_heads_share_are_repeated():
    queries, keys = normal(BATCH, 4, TOKENS, WIDTH), normal(BATCH, 2, TOKENS, WIDTH)

    def own(queries: Tensor, keys: Tensor) -> Tensor:
        assert cpu_kernels.usable(queries, keys)
        mixed = by_short_text_kernel(queries, keys, keys, Causal(), aligned=True)
        assert mixed is not None
        return mixed

    def repeated(queries: Tensor, keys: Tensor) -> Tensor:
        keys = scaled_dot_product.repeat_for_heads(keys, 4)
        return plain(Causal(), TOKENS)(queries, keys, keys)

    assert largest_difference(own, repeated, queries, keys) < 3e-6


def test_what_is_not_finite_stays_visible():
    x = normal(BATCH, HEADS, TOKENS, WIDTH)
    x[2, 1, 5, 7] = float("nan")
    x.requires_grad_()
    mixed = by_short_text_kernel(x, x, x, Causal(), aligned=True)
    assert mixed is not None
    assert mixed[2, 1, 5].isnan().all()
    assert mixed[2, 1, :5].isfinite().all()
    assert mixed[2, 0].isfinite().all()


@pytest.mark.parametrize("layout", ["heads first", "tokens first", "part of a projection"])
def test_rotary_positions_equal_the_plain_operations(layout):
    batch, heads, tokens, width = 3, 2, 70, 44
    if layout == "heads first":
        x = normal(batch, heads, tokens, width)
    elif layout == "tokens first":
        x = normal(batch, tokens, heads, width).transpose(1, 2)
    else:
        x = normal(batch, tokens, 3 * heads * width)[..., : heads * width].unflatten(-1, (heads, width)).transpose(1, 2)
    cosine, sine = Rotary(width).rotation(torch.arange(tokens))

    def plain(x: torch.Tensor) -> torch.Tensor:
        assert not cpu_kernels.usable(x)
        return rotate_by(x, cosine, sine)

    assert largest_difference(lambda x: cpu_kernels.rotate(x, cosine, sine), plain, x) < 1e-6
