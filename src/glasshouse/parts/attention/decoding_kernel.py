"""Attention of one new token in each row to the tokens in a cache, by Triton kernels for CUDA.

They rotate the new query and key, write the key and value to their slot, and read the slots that the row has reached, each
once for all heads that share it, without a mask. If few rows have many slots, several programs share a row, and a second
kernel combines their results.

Axes: B batch, H heads, G key-value heads, S slots, E head width.
"""

import math
from typing import Any

import torch
from torch import Tensor

from glasshouse.parts.triton_installed import TRITON_INSTALLED

# Slots that a program reads at a time.
BLOCK = 64
# A program that shares a row has at least this many slots.
LEAST_SHARE = 256
# Programs that keep a large GPU busy, and how many of them may share a row.
ENOUGH_PROGRAMS = 256
MOST_SHARES = 32
# `tl.dot` multiplies matrices of at least 16 rows.
LEAST_ROWS = 16

if TRITON_INSTALLED:
    import triton
    import triton.language as tl

    @triton.jit
    def _rotated(vectors, feature, inside, frequencies, position, WIDTH: tl.constexpr):
        """Vectors (pointers to E features) after the rotary encoding, in float32; see `Rotary.rotate`."""
        half: tl.constexpr = WIDTH // 2
        own = tl.load(vectors + feature, mask=inside, other=0.0).to(tl.float32)
        partner = tl.where(feature < half, feature + half, feature - half)
        other = tl.load(vectors + partner, mask=inside, other=0.0).to(tl.float32)
        pair = tl.where(feature < half, feature, feature - half)
        angle = position.to(tl.float32) * tl.load(frequencies + pair, mask=feature < WIDTH, other=0.0)
        return own * tl.cos(angle) + tl.where(feature < half, -other, other) * tl.sin(angle)

    @triton.jit(do_not_specialize=["shares"])
    def _attend_kernel(
        queries,
        new_keys,
        new_values,
        keys,
        values,
        positions,
        frequencies,
        output,
        partial,
        scale,
        query_stride,
        key_stride,
        value_stride,
        row_stride,
        group_stride,
        position_stride,
        shares,
        GROUPS: tl.constexpr,
        HEADS: tl.constexpr,
        ROWS: tl.constexpr,
        WIDTH: tl.constexpr,
        PADDED: tl.constexpr,
        BLOCK: tl.constexpr,
        SHARED: tl.constexpr,
        ROTARY: tl.constexpr,
    ):
        """One row and key-value head. HEADS: query heads of the group; ROWS: the same, padded for `tl.dot`, or 1."""
        row, group, share = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
        position = tl.load(positions + row * position_stride)
        feature = tl.arange(0, PADDED)
        head = tl.arange(0, ROWS)
        # Queries (ROWS, PADDED), and the new key and value (PADDED).
        query_rows = queries + row * query_stride + (group * HEADS + head[:, None]) * WIDTH
        query_inside = (head[:, None] < HEADS) & (feature[None, :] < WIDTH)
        new_key_row = new_keys + row * key_stride + group * WIDTH
        element = keys.dtype.element_ty
        if ROTARY:
            query = _rotated(query_rows, feature[None, :], query_inside, frequencies, position, WIDTH)
            query = query.to(queries.dtype.element_ty).to(tl.float32)
            new_key = _rotated(new_key_row, feature, feature < WIDTH, frequencies, position, WIDTH)
        else:
            query = tl.load(query_rows + feature[None, :], mask=query_inside, other=0.0).to(tl.float32)
            new_key = tl.load(new_key_row + feature, mask=feature < WIDTH, other=0.0).to(tl.float32)
        new_value_row = new_values + row * value_stride + group * WIDTH
        # As they are in the cache.
        new_key = new_key.to(element)
        new_value = tl.load(new_value_row + feature, mask=feature < WIDTH, other=0.0).to(element)
        slots = row * row_stride + group * group_stride
        # Slots of this share: whole blocks, so that only the last one is cut.
        blocks = (position + BLOCK - 1) // BLOCK
        blocks_each = (blocks + shares - 1) // shares
        first, last = share * blocks_each * BLOCK, tl.minimum((share + 1) * blocks_each * BLOCK, position)
        maximum = tl.full((ROWS,), float("-inf"), tl.float32)
        total = tl.zeros((ROWS,), tl.float32)
        mixed = tl.zeros((ROWS, PADDED), tl.float32)
        if share == 0:
            # The new token attends to itself: no other program may read its slot, and this one does not have to.
            tl.store(keys + slots + position * WIDTH + feature, new_key, mask=feature < WIDTH)
            tl.store(values + slots + position * WIDTH + feature, new_value, mask=feature < WIDTH)
            maximum = tl.sum(query * new_key.to(tl.float32)[None, :], 1) * scale
            total = total + 1.0
            mixed = mixed + new_value.to(tl.float32)[None, :]
        for start in range(first, last, BLOCK):
            slot = start + tl.arange(0, BLOCK)
            inside = (slot[:, None] < last) & (feature[None, :] < WIDTH)
            old_keys = tl.load(keys + slots + slot[:, None] * WIDTH + feature[None, :], mask=inside, other=0.0)
            old_values = tl.load(values + slots + slot[:, None] * WIDTH + feature[None, :], mask=inside, other=0.0)
            if ROWS == 1:
                scores = tl.sum(query * old_keys.to(tl.float32), 1)[None, :]
            else:
                scores = tl.dot(query.to(element), tl.trans(old_keys), input_precision="ieee")
            scores = tl.where(slot[None, :] < last, scores * scale, float("-inf"))
            new_maximum = tl.maximum(maximum, tl.max(scores, 1))
            weights = tl.exp(scores - new_maximum[:, None])
            change = tl.exp(maximum - new_maximum)
            total = total * change + tl.sum(weights, 1)
            if ROWS == 1:
                added = tl.sum(tl.trans(weights) * old_values.to(tl.float32), 0)[None, :]
            else:
                added = tl.dot(weights.to(element), old_values, input_precision="ieee")
            mixed = mixed * change[:, None] + added
            maximum = new_maximum
        index = (row * GROUPS + group) * HEADS + head
        inside_output = (head[:, None] < HEADS) & (feature[None, :] < WIDTH)
        if SHARED:
            place = partial + (index * shares + share) * (WIDTH + 2)
            tl.store(place[:, None] + feature[None, :], mixed, mask=inside_output)
            tl.store(place + WIDTH, maximum, mask=head < HEADS)
            tl.store(place + WIDTH + 1, total, mask=head < HEADS)
        else:
            result = (mixed / total[:, None]).to(output.dtype.element_ty)
            tl.store(output + index[:, None] * WIDTH + feature[None, :], result, mask=inside_output)

    @triton.jit(do_not_specialize=["shares"])
    def _combine_kernel(partial, output, shares, WIDTH: tl.constexpr, PADDED: tl.constexpr, MOST_SHARES: tl.constexpr):
        """One row and head: the weighted mean of what its shares found."""
        index = tl.program_id(0).to(tl.int64)
        feature, share = tl.arange(0, PADDED), tl.arange(0, MOST_SHARES)
        place = partial + (index * shares + share) * (WIDTH + 2)
        maximum = tl.load(place + WIDTH, mask=share < shares, other=float("-inf"))
        total = tl.load(place + WIDTH + 1, mask=share < shares, other=0.0)
        inside = (share[:, None] < shares) & (feature[None, :] < WIDTH)
        mixed = tl.load(place[:, None] + feature[None, :], mask=inside, other=0.0)
        factor = tl.exp(maximum - tl.max(maximum, 0))
        result = tl.sum(mixed * factor[:, None], 0) / tl.sum(total * factor, 0)
        tl.store(output + index * WIDTH + feature, result.to(output.dtype.element_ty), mask=feature < WIDTH)


def usable(queries_BHTE: Tensor, cached_keys_BGSE: Tensor) -> bool:
    """Whether the kernel can compute this attention."""
    one_token = queries_BHTE.shape[2] == 1 and not torch.is_grad_enabled()
    formats = queries_BHTE.dtype == cached_keys_BGSE.dtype and queries_BHTE.dtype != torch.float64
    laid_out = cached_keys_BGSE.stride()[2:] == (queries_BHTE.shape[-1], 1) and queries_BHTE.shape[-1] <= 256
    return TRITON_INSTALLED and queries_BHTE.is_cuda and one_token and formats and laid_out


def attend(
    queries_BH1E: Tensor,
    keys_BG1E: Tensor,
    values_BG1E: Tensor,
    cached_keys_BGSE: Tensor,
    cached_values_BGSE: Tensor,
    positions_B1: Tensor,
    frequencies: Tensor | None,
) -> Tensor:
    """Write the new keys and values to the cache and mix (B, H, 1, E) the values up to each row's position.

    frequencies: those of the rotary encoding, if queries and keys still have to be rotated.
    """
    rows, heads, _, width = queries_BH1E.shape
    groups, slots = cached_keys_BGSE.shape[1:3]
    each = heads // groups
    padded = max(triton.next_power_of_2(width), LEAST_ROWS)
    shares = min(max(slots // LEAST_SHARE, 1), max(ENOUGH_PROGRAMS // (rows * groups), 1), MOST_SHARES)
    output = queries_BH1E.new_empty(rows, heads, width)
    partial = output if shares == 1 else queries_BH1E.new_empty(rows, heads, shares, width + 2, dtype=torch.float32)
    new = [_with_head_stride(tensor, width) for tensor in (queries_BH1E, keys_BG1E, values_BG1E)]
    _attend_kernel[(rows, groups, shares)](
        *new,
        cached_keys_BGSE,
        cached_values_BGSE,
        positions_B1,
        output if frequencies is None else frequencies,
        output,
        partial,
        1 / math.sqrt(width),
        *(tensor.stride(0) for tensor in new),
        *cached_keys_BGSE.stride()[:2],
        positions_B1.stride(0),
        shares,
        GROUPS=groups,
        HEADS=each,
        ROWS=1 if each == 1 else max(triton.next_power_of_2(each), LEAST_ROWS),
        WIDTH=width,
        PADDED=padded,
        BLOCK=BLOCK,
        SHARED=shares > 1,
        ROTARY=frequencies is not None,
        # One warp is the fastest where its registers suffice: nothing has to be exchanged between warps.
        num_warps=4 if each > 1 or padded > 128 else 2 if padded > 64 else 1,
    )
    if shares > 1:
        _combine_kernel[(rows * heads,)](
            partial, output, shares, WIDTH=width, PADDED=padded, MOST_SHARES=MOST_SHARES, num_warps=1
        )
    return output[:, :, None]


def _with_head_stride(tensor: Tensor, width: int) -> Any:
    """The tensor, copied unless its heads follow each other in memory."""
    return tensor if tensor.stride(1) == width and tensor.stride(3) == 1 else tensor.contiguous()
