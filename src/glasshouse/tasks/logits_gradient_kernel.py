"""The Triton kernels of `linear_cross_entropy` for stored logits: one writes their gradient, in their place or in 8 bits.

It reads the logits once from memory; the second reading of a row is from the cache. A row is one prediction: V contiguous
logits, processed by one program. The other transposes matrices of 8-bit numbers.
"""

import torch
from torch import Tensor

from glasshouse.parts.triton_installed import TRITON_INSTALLED
from glasshouse.tasks.base import IGNORED

# The logits that a program holds at a time, and its warps.
BLOCK = 2048
WARPS = 4
# The side of the squares that are transposed at a time.
TILE = 128
# In 8 bits the gradient is e5m2 (2 bits of mantissa, numbers from 2^-16 to 57,344) and multiplied by this. It lies between
# -1 and 1, and probabilities down to 2^-31 are above zero.
FP8_FORMAT, FP8_SCALE = torch.float8_e5m2, 2.0**15

if TRITON_INSTALLED:
    import triton
    import triton.language as tl

    @triton.jit
    def _gradient_kernel(  # type: ignore[no-untyped-def]
        logits,
        targets,
        losses,
        gradients,
        scale: tl.constexpr,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        """One prediction: its loss, and the gradient of its logits, which may be written in their place."""
        row = tl.program_id(0).to(tl.int64)
        start, gradient_start = logits + row * size, gradients + row * size
        maximum = -1e38
        exp_sum = 0.0
        logit_sum = 0.0
        for first in range(0, size, BLOCK):
            column = first + tl.arange(0, BLOCK)
            block = tl.load(start + column, mask=column < size, other=float("-inf")).to(tl.float32)
            new_maximum = tl.maximum(maximum, tl.max(block, 0))
            exp_sum = exp_sum * tl.exp(maximum - new_maximum) + tl.sum(tl.exp(block - new_maximum), 0)
            maximum = new_maximum
            if smoothing > 0:
                logit_sum += tl.sum(tl.where(column < size, block, 0.0), 0)
        log_sum = maximum + tl.log(exp_sum)
        target = tl.load(targets + row)
        scored = target != IGNORED
        index = tl.where(scored, target, 0)
        # A target outside the vocabulary makes the loss NaN instead of reading memory outside the row.
        target_log = tl.load(start + index, mask=(index >= 0) & (index < size), other=float("nan")).to(tl.float32) - log_sum
        loss = -target_log
        if smoothing > 0:
            loss = loss - smoothing * (logit_sum / size - log_sum - target_log)
        tl.store(losses + row, tl.where(scored, loss, 0.0))
        factor = tl.where(scored, scale, 0.0)
        # All warps have read the target's logit before one of them overwrites it.
        tl.debug_barrier()
        for first in range(0, size, BLOCK):
            column = first + tl.arange(0, BLOCK)
            block = tl.load(start + column, mask=column < size, other=float("-inf")).to(tl.float32)
            wanted = tl.where(column == index, 1.0 - smoothing, 0.0) + smoothing / size
            gradient = (tl.exp(block - log_sum) - wanted) * factor
            tl.store(gradient_start + column, gradient.to(gradients.dtype.element_ty), mask=column < size)

    @triton.jit
    def _transpose_kernel(source, result, rows, columns, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
        row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
        column = tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        tile = tl.load(source + row[:, None] * columns + column[None, :], mask=inside)
        tl.store(result + column[:, None] * rows + row[None, :], tl.trans(tile), mask=tl.trans(inside))


def losses_and_gradients(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """The loss of each prediction (..., N). The logits (..., N, V) become the gradient of the sum of the losses."""
    return _losses(logits, targets, smoothing, logits, 1.0)


def losses_and_fp8_gradients(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The loss of each prediction (N), and FP8_SCALE times the gradient of their sum by the logits (N, V), in 8 bits."""
    gradients = torch.empty_like(logits, dtype=FP8_FORMAT)
    return _losses(logits, targets, smoothing, gradients, FP8_SCALE), gradients


def _losses(logits: Tensor, targets: Tensor, smoothing: float, gradients: Tensor, scale: float) -> Tensor:
    losses, size = torch.empty(targets.shape, device=logits.device), logits.shape[-1]
    _gradient_kernel[(targets.numel(),)](
        logits, targets, losses, gradients, scale, size, smoothing, IGNORED, BLOCK, num_warps=WARPS
    )
    return losses


def transposed(matrix: Tensor) -> Tensor:
    """A matrix of 8-bit numbers, transposed in memory."""
    rows, columns = matrix.shape
    result = torch.empty(columns, rows, device=matrix.device, dtype=matrix.dtype)
    grid = triton.cdiv(rows, TILE), triton.cdiv(columns, TILE)
    _transpose_kernel[grid](matrix.view(torch.uint8), result.view(torch.uint8), rows, columns, TILE)
    return result
