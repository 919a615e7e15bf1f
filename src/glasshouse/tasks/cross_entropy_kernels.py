"""Triton kernels for stored logits on CUDA. A row is one prediction: V contiguous logits, processed by one program.

Those of `cross_entropy` read the logits once for the loss and once for the gradient, half as often as plain operations. That
of `linear_cross_entropy` computes both at once, in place of the logits or in 8 bits.
"""

from functools import cache

import torch
from torch import Tensor

from glasshouse.parts.triton_installed import TRITON_INSTALLED, can_build
from glasshouse.tasks.base import IGNORED

# The maximum number of logits that a program holds at a time.
BLOCK = 2048
# The warps of a program that writes gradients in place.
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
    def _loss_kernel(
        logits,
        targets,
        losses,
        target_logs,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        row = tl.program_id(0).to(tl.int64)
        start = logits + row * size
        # Online log-sum-exp: each lane keeps its own maximum and sum; the lanes are combined at the end.
        maximum = tl.full((BLOCK,), -1e38, tl.float32)
        exp_sum = tl.zeros((BLOCK,), tl.float32)
        logit_sum = tl.zeros((BLOCK,), tl.float32)
        for first in range(0, size, BLOCK):
            column = first + tl.arange(0, BLOCK)
            block = tl.load(start + column, mask=column < size, other=float("-inf")).to(tl.float32)
            new_maximum = tl.maximum(maximum, block)
            exp_sum = exp_sum * tl.exp(maximum - new_maximum) + tl.exp(block - new_maximum)
            maximum = new_maximum
            if smoothing > 0:
                logit_sum += tl.where(column < size, block, 0.0)
        top = tl.max(maximum, 0)
        log_sum = top + tl.log(tl.sum(exp_sum * tl.exp(maximum - top), 0))
        target = tl.load(targets + row)
        scored = target != IGNORED
        index = tl.where(scored, target, 0)
        # A target outside the vocabulary makes the loss NaN instead of reading memory outside the row.
        target_log = tl.load(start + index, mask=(index >= 0) & (index < size), other=float("nan")).to(tl.float32) - log_sum
        loss = -target_log
        if smoothing > 0:
            loss = loss - smoothing * (tl.sum(logit_sum, 0) / size - log_sum - target_log)
        tl.store(target_logs + row, target_log)
        tl.store(losses + row, tl.where(scored, loss, 0.0))

    @triton.jit
    def _gradient_kernel(
        logits,
        targets,
        target_logs,
        gradients,
        output,
        rows,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        row = tl.program_id(0).to(tl.int64)
        start = logits + row * size
        target = tl.load(targets + row)
        scored = target != IGNORED
        index = tl.where(scored, target, 0)
        factor = tl.where(scored, tl.load(gradients + row // rows).to(tl.float32), 0.0)
        log_sum = tl.load(start + index).to(tl.float32) - tl.load(target_logs + row)
        smooth_share = smoothing / size
        for first in range(0, size, BLOCK):
            column = first + tl.arange(0, BLOCK)
            block = tl.load(start + column, mask=column < size, other=float("-inf")).to(tl.float32)
            target_probability = tl.where(column == index, 1.0 - smoothing, 0.0) + smooth_share
            gradient = (tl.exp(block - log_sum) - target_probability) * factor
            tl.store(output + row * size + column, gradient.to(output.dtype.element_ty), mask=column < size)

    @triton.jit
    def _loss_and_gradient_kernel(
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
    def _transpose_kernel(source, result, rows, columns, TILE: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
        column = tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        tile = tl.load(source + row[:, None] * columns + column[None, :], mask=inside)
        tl.store(result + column[:, None] * rows + row[None, :], tl.trans(tile), mask=tl.trans(inside))


@cache
def _kernels_work() -> bool:
    return can_build(lambda: losses(torch.zeros(1, 2, device="cuda"), torch.zeros(1, dtype=torch.int64, device="cuda"), 0.0))


def usable(logits: Tensor) -> bool:
    """Whether the kernels can be used for a tensor. Under torch.compile they are not, because it generates its own."""
    return logits.is_cuda and not torch.compiler.is_compiling() and _kernels_work()


def _block(size: int) -> int:
    return min(BLOCK, 1 << (size - 1).bit_length())


def losses(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Logits (..., N, V), targets (..., N) -> the loss and the target's log-probability of each prediction, (..., N)."""
    logits, targets = logits.contiguous(), targets.contiguous()
    results, target_logs = (torch.empty(targets.shape, device=logits.device) for _ in range(2))
    size = logits.shape[-1]
    _loss_kernel[(targets.numel(),)](logits, targets, results, target_logs, size, smoothing, IGNORED, _block(size))
    return results, target_logs


def gradients(logits: Tensor, targets: Tensor, target_logs: Tensor, gradient: Tensor, smoothing: float) -> Tensor:
    """The gradient with respect to the logits; `gradient` (...) is that of the sum over N."""
    logits, targets, target_logs = logits.contiguous(), targets.contiguous(), target_logs.contiguous()
    output, size, rows = torch.empty_like(logits), logits.shape[-1], targets.shape[-1]
    gradient = gradient.expand(targets.shape[:-1]).contiguous()
    shapes = rows, size, smoothing, IGNORED, _block(size)
    _gradient_kernel[(targets.numel(),)](logits, targets, target_logs, gradient, output, *shapes)
    return output


def losses_and_gradients(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """The loss of each prediction (..., N). The logits (..., N, V) become the gradient of the sum of the losses."""
    return _losses_and_gradients(logits, targets, smoothing, logits, 1.0)


def losses_and_fp8_gradients(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The loss of each prediction (N), and FP8_SCALE times the gradient of their sum by the logits (N, V), in 8 bits."""
    gradients = torch.empty_like(logits, dtype=FP8_FORMAT)
    return _losses_and_gradients(logits, targets, smoothing, gradients, FP8_SCALE), gradients


def _losses_and_gradients(logits: Tensor, targets: Tensor, smoothing: float, gradients: Tensor, scale: float) -> Tensor:
    losses, size = torch.empty(targets.shape, device=logits.device), logits.shape[-1]
    _loss_and_gradient_kernel[(targets.numel(),)](
        logits, targets, losses, gradients, scale, size, smoothing, IGNORED, BLOCK, num_warps=WARPS
    )
    return losses


def transposed(matrix: Tensor) -> Tensor:
    rows, columns = matrix.shape
    result = torch.empty(columns, rows, device=matrix.device, dtype=matrix.dtype)
    grid = triton.cdiv(rows, TILE), triton.cdiv(columns, TILE)
    _transpose_kernel[grid](matrix.view(torch.uint8), result.view(torch.uint8), rows, columns, TILE)
    return result
