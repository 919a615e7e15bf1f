"""The kernels of `projection` for CUDA, in Triton: logits are made tile by tile, used, and never written out.

Every program multiplies features of some predictions with the vectors of some tokens. Products are of bfloat16 numbers and
summed in float32. Axes: R replicas, N predictions, D width, V vocabulary; a tile has `ROWS` predictions and `TOKENS` tokens.
"""

import torch
from torch import Tensor

from glasshouse.tasks.base import IGNORED
from glasshouse.tasks.cross_entropy_kernels import HERE

ROWS = 128
TOKENS = 128

if HERE:
    import triton
    import triton.language as tl

    @triton.jit
    def _vectors(of, index, own, count: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
        """Some rows of a matrix, and nothing beyond its ends."""
        here = (index[:, None] < count) & (own[None, :] < width)
        return tl.load(of + index[:, None] * width + own[None, :], mask=here, other=0.0)

    @triton.jit
    def _asked(of, row, rows: tl.constexpr, IGNORED: tl.constexpr):  # type: ignore[no-untyped-def]
        """(which predictions count, tokens that can be looked for)."""
        target = tl.load(of + row, mask=row < rows, other=IGNORED)
        return target != IGNORED, tl.where(target == IGNORED, 0, target)

    @triton.jit
    def _value(  # type: ignore[no-untyped-def]
        features,
        matrix,
        bias,
        targets,
        losses,
        logarithms,
        rows: tl.constexpr,
        width: tl.constexpr,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        ROWS: tl.constexpr,
        TOKENS: tl.constexpr,
        WIDE: tl.constexpr,
    ):
        replica = tl.program_id(1).to(tl.int64)
        row, own = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDE)
        kept, known = _asked(targets + replica * rows, row, rows, IGNORED)
        read = _vectors(features + replica * rows * width, row, own, rows, width)
        highest = tl.full((ROWS,), -1e38, tl.float32)
        sums = tl.zeros((ROWS,), tl.float32)
        plain = tl.zeros((ROWS,), tl.float32)
        wanted = tl.zeros((ROWS,), tl.float32)
        for first in range(0, size, TOKENS):
            column = first + tl.arange(0, TOKENS)
            logits = tl.dot(read, tl.trans(_vectors(matrix + replica * size * width, column, own, size, width)))
            if bias is not None:
                logits += tl.load(bias + replica * size + column, mask=column < size, other=0.0)[None, :]
            wanted += tl.sum(tl.where(column[None, :] == known[:, None], logits, 0.0), 1)
            if smoothing > 0:
                plain += tl.sum(tl.where(column[None, :] < size, logits, 0.0), 1)
            logits = tl.where(column[None, :] < size, logits, float("-inf"))
            higher = tl.maximum(highest, tl.max(logits, 1))
            sums = sums * tl.exp(highest - higher) + tl.sum(tl.exp(logits - higher[:, None]), 1)
            highest = higher
        logarithm = highest + tl.log(sums)
        loss = logarithm - wanted
        if smoothing > 0:
            loss = loss - smoothing * (plain / size - wanted)
        # A target that is no token makes the loss no number.
        loss = tl.where((known >= 0) & (known < size), loss, float("nan"))
        tl.store(losses + replica * rows + row, tl.where(kept, loss, 0.0), mask=row < rows)
        tl.store(logarithms + replica * rows + row, logarithm, mask=row < rows)

    @triton.jit
    def _by_features(  # type: ignore[no-untyped-def]
        features,
        matrix,
        bias,
        targets,
        logarithms,
        gradients,
        found,
        rows: tl.constexpr,
        width: tl.constexpr,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        ROWS: tl.constexpr,
        TOKENS: tl.constexpr,
        WIDE: tl.constexpr,
    ):
        replica = tl.program_id(1).to(tl.int64)
        row, own = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDE)
        kept, known = _asked(targets + replica * rows, row, rows, IGNORED)
        read = _vectors(features + replica * rows * width, row, own, rows, width)
        logarithm = tl.load(logarithms + replica * rows + row, mask=row < rows, other=0.0)
        factor = tl.where(kept, tl.load(gradients + replica), 0.0)
        total = tl.zeros((ROWS, WIDE), tl.float32)
        for first in range(0, size, TOKENS):
            column = first + tl.arange(0, TOKENS)
            vectors = _vectors(matrix + replica * size * width, column, own, size, width)
            logits = tl.dot(read, tl.trans(vectors))
            if bias is not None:
                logits += tl.load(bias + replica * size + column, mask=column < size, other=0.0)[None, :]
            hoped = tl.where(column[None, :] == known[:, None], 1.0 - smoothing, 0.0) + smoothing / size
            # Beyond the last token the vectors are 0, and so is what they add.
            slope = (tl.exp(logits - logarithm[:, None]) - hoped) * factor[:, None]
            total += tl.dot(slope.to(vectors.dtype), vectors)
        here = (row[:, None] < rows) & (own[None, :] < width)
        tl.store(found + replica * rows * width + row[:, None] * width + own[None, :], total, mask=here)

    @triton.jit
    def _by_matrix(  # type: ignore[no-untyped-def]
        features,
        matrix,
        bias,
        targets,
        logarithms,
        gradients,
        found,
        found_bias,
        rows: tl.constexpr,
        width: tl.constexpr,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        ROWS: tl.constexpr,
        TOKENS: tl.constexpr,
        WIDE: tl.constexpr,
    ):
        replica = tl.program_id(1).to(tl.int64)
        column, own = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS), tl.arange(0, WIDE)
        vectors = _vectors(matrix + replica * size * width, column, own, size, width)
        gradient = tl.load(gradients + replica)
        total = tl.zeros((TOKENS, WIDE), tl.float32)
        alone = tl.zeros((TOKENS,), tl.float32)
        for first in range(0, rows, ROWS):
            row = first + tl.arange(0, ROWS)
            kept, known = _asked(targets + replica * rows, row, rows, IGNORED)
            read = _vectors(features + replica * rows * width, row, own, rows, width)
            logarithm = tl.load(logarithms + replica * rows + row, mask=row < rows, other=0.0)
            logits = tl.dot(vectors, tl.trans(read))
            if bias is not None:
                logits += tl.load(bias + replica * size + column, mask=column < size, other=0.0)[:, None]
            hoped = tl.where(column[:, None] == known[None, :], 1.0 - smoothing, 0.0) + smoothing / size
            slope = (tl.exp(logits - logarithm[None, :]) - hoped) * tl.where(kept, gradient, 0.0)[None, :]
            total += tl.dot(slope.to(read.dtype), read)
            if bias is not None:
                alone += tl.sum(slope, 1)
        here = (column[:, None] < size) & (own[None, :] < width)
        tl.store(found + replica * size * width + column[:, None] * width + own[None, :], total, mask=here)
        if bias is not None:
            tl.store(found_bias + replica * size + column, alone, mask=column < size)


def value(features: Tensor, matrix: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """(R, N, D), (R, V, D), (R, V) and (R, N) -> each prediction's loss, and the logarithm of its sum of exponentials."""
    losses, logarithms = (torch.empty(targets.shape, device=targets.device) for _ in range(2))
    (replicas, rows, width), size = features.shape, matrix.shape[1]
    grid = -(-rows // ROWS), replicas
    shapes = rows, width, size, smoothing, IGNORED, ROWS, TOKENS, _wide(width)
    _value[grid](features, matrix, bias, targets, losses, logarithms, *shapes, num_warps=8)
    return losses, logarithms


def slopes(
    features: Tensor,
    matrix: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    logarithms: Tensor,
    gradient_R: Tensor,
    smoothing: float,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradients by features, matrix and bias, in float32, given those by each replica's sum of losses."""
    (replicas, rows, width), size = features.shape, matrix.shape[1]
    by_features, by_matrix = (torch.empty(each.shape, device=each.device) for each in (features, matrix))
    by_bias = None if bias is None else torch.empty_like(bias)
    shapes = rows, width, size, smoothing, IGNORED, ROWS, TOKENS, _wide(width)
    given = features, matrix, bias, targets, logarithms, gradient_R
    _by_features[-(-rows // ROWS), replicas](*given, by_features, *shapes, num_warps=8)
    _by_matrix[-(-size // TOKENS), replicas](*given, by_matrix, by_bias, *shapes, num_warps=8)
    return by_features, by_matrix, by_bias


def _wide(width: int) -> int:
    """A power of two, as tiles must have, and enough for a product."""
    return max(16, 1 << (width - 1).bit_length())
