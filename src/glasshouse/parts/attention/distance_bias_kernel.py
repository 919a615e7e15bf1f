"""Attention with a bias that depends on the distance, by one CUDA kernel that adds the bias itself (torch's FlexAttention).

It reads the bias from a table with one entry for each distance and head, so its memory is linear in n. Torch compiles it on
first use, which takes seconds; it has no dropout. Otherwise, and where torch cannot compile it, the bias is a matrix.

Axes: B batch, H heads, G key-value heads, T time (queries and keys), E head width, D distances from -(T - 1) to T - 1.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from glasshouse.parts.attention import scaled_dot_product
from glasshouse.parts.masks import Everything, Mask, Padding
from glasshouse.parts.triton_installed import TRITON_INSTALLED

# For shorter sequences the matrix of biases is small, and compiling takes longer than it saves.
LEAST_LENGTH = 1024
# The kernels multiply matrices whose width is a power of two, at least 16.
HEAD_WIDTHS = (16, 32, 64, 128, 256)
BLOCK = 128
MOST_VARIANTS = 64
# Blocks of keys, values and biases that are loaded ahead. Three, torch's default, need 240 KB of shared memory for heads of
# width 64 in 16 bits; an H200 has 227 KB.
STAGES = 2

_planned_for_cuda = False
_not_compiled: set[tuple[torch.dtype, int]] = set()  # formats and head widths for which torch could not compile it


@contextmanager
def planned_for(device: torch.device) -> Iterator[None]:
    """Within it, fake tensors on a CPU stand for tensors on this device, so that the memory of its kernels is counted."""
    global _planned_for_cuda
    before, _planned_for_cuda = _planned_for_cuda, device.type == "cuda"
    try:
        yield
    finally:
        _planned_for_cuda = before


def usable(queries_BHTE: Tensor, mask: Mask, dropout: float) -> bool:
    """Whether the kernel can compute this attention and is worth compiling."""
    length, head_width = queries_BHTE.shape[-2:]
    on_cuda = _planned_for_cuda if isinstance(queries_BHTE, FakeTensor) else queries_BHTE.is_cuda
    known_mask = mask.lower_triangular or isinstance(mask, Everything | Padding)
    within_transform = torch._C._functorch.peek_interpreter_stack() is not None  # vmap, jacrev and the like
    worth_it = length >= LEAST_LENGTH and head_width in HEAD_WIDTHS and not dropout
    return on_cuda and worth_it and known_mask and not within_transform and TRITON_INSTALLED


def attend(queries_BHTE: Tensor, keys_BGTE: Tensor, values_BGTE: Tensor, bias_HD: Tensor, mask: Mask) -> Tensor:
    """softmax(Q K^T / sqrt(E) + bias[i - j]) V, where `bias_HD[:, d + T - 1]` belongs to the distance i - j = d."""
    if isinstance(queries_BHTE, FakeTensor):
        # Only the memory counts here: the kernel without a bias stores as much.
        return scaled_dot_product.fused(queries_BHTE, keys_BGTE, values_BGTE, None, None, mask.lower_triangular, 0.0)
    zero_distance = queries_BHTE.shape[-2] - 1

    def add_bias(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score + bias_HD[head, query - key + zero_distance]

    # A model that is compiled as a whole compiles FlexAttention with it.
    attention = _kernel(queries_BHTE.is_cuda and not torch.compiler.is_compiling())
    blocks = block_mask(mask, queries_BHTE.shape[-2], queries_BHTE.device)
    variant = (queries_BHTE.dtype, queries_BHTE.shape[-1])
    if variant not in _not_compiled:
        try:
            return attention(
                queries_BHTE,
                keys_BGTE,
                values_BGTE,
                score_mod=add_bias,
                block_mask=blocks,
                enable_gqa=keys_BGTE.shape[1] != queries_BHTE.shape[1],
                kernel_options={"num_stages": STAGES},
            )
        except KernelError as error:
            _not_compiled.add(variant)
            reason = f"{variant[0]}, heads of width {variant[1]}: {str(error).splitlines()[0]}"
            warnings.warn(f"the bias is formed as a matrix, since torch cannot compile its kernel ({reason})", stacklevel=2)
    return _by_matrix(queries_BHTE, keys_BGTE, values_BGTE, bias_HD, mask)


def _by_matrix(queries_BHTE: Tensor, keys_BGTE: Tensor, values_BGTE: Tensor, bias_HD: Tensor, mask: Mask) -> Tensor:
    positions = torch.arange(queries_BHTE.shape[-2], device=queries_BHTE.device)
    bias_HTT = bias_HD[:, positions[:, None] - positions + len(positions) - 1]
    allowed = scaled_dot_product.allowed_over_heads(mask, positions, positions)
    return scaled_dot_product.fused(queries_BHTE, keys_BGTE, values_BGTE, allowed, bias_HTT, causal=False, dropout=0.0)


class KernelError(Exception):
    """Torch could not compile the kernel, for example because it needs more shared memory than the GPU has."""


@cache
def _kernel(compile: bool) -> Any:
    """FlexAttention; without compiling it forms the matrix of scores, which is the definition of what it computes."""
    if not compile:
        return flex_attention
    from torch._inductor.exc import InductorError  # takes a second to import

    compiled: Any = torch.compile(flex_attention)

    def attention(*tensors: Tensor, **options: Any) -> Tensor:
        # Each kind of mask, number format and learned bias is compiled once. Beyond its limit, torch would run the rest
        # uncompiled.
        with torch._dynamo.config.patch(recompile_limit=MOST_VARIANTS):
            try:
                return compiled(*tensors, **options)
            except InductorError as error:
                raise KernelError(str(error)) from error

    return attention


def block_mask(mask: Mask, length: int, device: torch.device) -> BlockMask | None:
    """The mask as FlexAttention reads it: the blocks of keys that each block of queries needs, and a rule within them."""
    if mask.lower_triangular:
        return _causal_blocks(length, device)
    return _padding_blocks(mask.lengths.to(device), length) if isinstance(mask, Padding) else None


@lru_cache(maxsize=8)
def _causal_blocks(length: int, device: torch.device) -> BlockMask:
    count = -(-length // BLOCK)
    rows = torch.arange(count, device=device, dtype=torch.int32)
    # Each block of queries needs a part of its own block of keys, and all of the earlier ones.
    diagonal = torch.zeros(count, count, device=device, dtype=torch.int32)
    diagonal[:, 0] = rows
    return BlockMask.from_kv_blocks(
        torch.ones_like(rows)[None, None],
        diagonal[None, None],
        rows[None, None],
        rows.repeat(count, 1)[None, None],
        BLOCK_SIZE=BLOCK,
        mask_mod=_is_not_later,
        seq_lengths=(length, length),
    )


def _is_not_later(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return key <= query


def _padding_blocks(lengths_B: Tensor, length: int) -> BlockMask:
    count = -(-length // BLOCK)
    columns = torch.arange(count, device=lengths_B.device, dtype=torch.int32)
    needed = ((lengths_B + BLOCK - 1) // BLOCK).to(torch.int32)

    def is_text(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return key < lengths_B[batch]

    return BlockMask.from_kv_blocks(
        needed[:, None, None].repeat(1, 1, count),
        columns.repeat(len(lengths_B), 1, count, 1),
        BLOCK_SIZE=BLOCK,
        mask_mod=is_text,
        seq_lengths=(length, length),
    )
