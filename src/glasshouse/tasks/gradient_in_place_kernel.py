"""The Triton kernel of `linear_cross_entropy` for stored logits: it writes their gradient in their place.

It reads the logits once from memory; the second reading of a row is from the cache. A row is one prediction: V contiguous
logits, processed by one program.
"""

import torch
from torch import Tensor

from glasshouse.parts.triton_installed import TRITON_INSTALLED
from glasshouse.tasks.base import IGNORED

# The logits that a program holds at a time, and its warps.
BLOCK = 2048
WARPS = 4

if TRITON_INSTALLED:
    import triton
    import triton.language as tl

    @triton.jit
    def _gradient_kernel(  # type: ignore[no-untyped-def]
        logits,
        targets,
        losses,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        """One prediction: its loss, and its logits replaced by the gradient."""
        row = tl.program_id(0).to(tl.int64)
        start = logits + row * size
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
        factor = tl.where(scored, 1.0, 0.0)
        # All warps have read the target's logit before one of them overwrites it.
        tl.debug_barrier()
        for first in range(0, size, BLOCK):
            column = first + tl.arange(0, BLOCK)
            block = tl.load(start + column, mask=column < size, other=float("-inf")).to(tl.float32)
            wanted = tl.where(column == index, 1.0 - smoothing, 0.0) + smoothing / size
            gradient = (tl.exp(block - log_sum) - wanted) * factor
            tl.store(start + column, gradient.to(logits.dtype.element_ty), mask=column < size)


def losses_and_gradients(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """The loss of each prediction (..., N). The logits (..., N, V) become the gradient of the sum of the losses."""
    losses, size = torch.empty(targets.shape, device=logits.device), logits.shape[-1]
    _gradient_kernel[(targets.numel(),)](logits, targets, losses, size, smoothing, IGNORED, BLOCK, num_warps=WARPS)
    return losses
