"""The cross-entropy of rows of logits and its gradient. See `tasks.cross_entropy`.

The exponentials take most of the time, so that the first kernel keeps them for the second.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glasshouse.cpu_kernels.row_kernel import RowKernel, exp, floats, integers, own_rows


class CrossEntropyFunction(torch.autograd.Function):
    """Logits (N, V), targets (N) -> the sum of the losses."""

    @staticmethod
    def forward(context: Any, logits: Tensor, targets: Tensor, smoothing: float, ignored: int) -> Tensor:
        logits, targets, size = logits.contiguous(), targets.contiguous(), logits.shape[-1]
        results, target_logs, totals = (logits.new_empty(len(targets)) for _ in range(3))
        exponentials = torch.empty_like(logits)
        inputs = (logits, targets, logits.new_tensor([smoothing]))
        losses(len(targets), size, *inputs, results, target_logs, totals, exponentials, size, ignored)
        context.save_for_backward(exponentials, targets, target_logs, totals)
        context.smoothing, context.ignored = smoothing, ignored
        return results.sum()

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        exponentials, targets, target_logs, totals = context.saved_tensors
        result, size = torch.empty_like(exponentials), exponentials.shape[-1]
        numbers = torch.stack([gradient, gradient.new_tensor(context.smoothing)])
        inputs = (exponentials, targets, numbers, target_logs, totals)
        gradients(len(targets), size, *inputs, result, size, context.ignored)
        return result, None, None, None


@RowKernel
def losses(address):
    first, last, _, arguments = own_rows(address)
    size, ignored = arguments[7], arguments[8]
    targets, smoothing = integers(arguments, 1, last), floats(arguments, 2, 0, 1)[0]
    results, target_logs = floats(arguments, 3, 0, last), floats(arguments, 4, 0, last)
    totals = floats(arguments, 5, 0, last)
    for row in range(first, last):
        logits, exponentials = floats(arguments, 0, row * size, size), floats(arguments, 6, row * size, size)
        target = targets[row]
        index = np.int64(0) if target == ignored else target
        highest, total, logit_sum = logits[0], np.float32(0.0), np.float32(0.0)
        for i in range(size):
            highest = logits[i] if logits[i] > highest else highest
        for i in range(size):
            exponentials[i] = exp(logits[i] - highest)
            total += exponentials[i]
        totals[row] = total
        log_sum = highest + np.log(total)
        # A target outside the vocabulary makes the loss not-a-number instead of reading memory outside the row.
        target_log = logits[index] - log_sum if 0 <= index < size else np.float32(np.nan)
        loss = -target_log
        if smoothing > 0:
            for i in range(size):
                logit_sum += logits[i]
            loss -= smoothing * (logit_sum / np.float32(size) - log_sum - target_log)
        target_logs[row] = target_log
        results[row] = np.float32(0.0) if target == ignored else loss


@RowKernel
def gradients(address):
    first, last, _, arguments = own_rows(address)
    size, ignored = arguments[6], arguments[7]
    targets, numbers = integers(arguments, 1, last), floats(arguments, 2, 0, 2)
    target_logs, totals = floats(arguments, 3, 0, last), floats(arguments, 4, 0, last)
    factor, smoothing = numbers[0], numbers[1]
    smooth_share = smoothing / np.float32(size)
    for row in range(first, last):
        result = floats(arguments, 5, row * size, size)
        target = targets[row]
        if target == ignored:
            for i in range(size):
                result[i] = np.float32(0.0)
            continue
        exponentials = floats(arguments, 0, row * size, size)
        # A target outside the vocabulary makes the gradients of its row not-a-number, as it does the loss.
        inside = 0 <= target < size
        scale = factor / totals[row] if inside else np.float32(np.nan)
        for i in range(size):
            result[i] = scale * exponentials[i] - factor * smooth_share
        if inside:
            # p - 1 as expm1(log p) is exact where p is near 1.
            result[target] = factor * (np.float32(np.expm1(target_logs[row])) + (smoothing - smooth_share))
