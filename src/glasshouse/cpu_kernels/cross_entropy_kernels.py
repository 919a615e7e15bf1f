"""The cross-entropy of rows of logits and its gradient: one pass over memory each. See `tasks.cross_entropy`."""

import numpy as np

from glasshouse.cpu_kernels.exponential import exp
from glasshouse.cpu_kernels.row_kernel import RowKernel, floats, integers, own_rows


@RowKernel
def losses(address):  # type: ignore[no-untyped-def]
    first, last, _, arguments = own_rows(address)
    size, ignored = arguments[5], arguments[6]
    targets, smoothing = integers(arguments, 1, last), floats(arguments, 2, 0, 1)[0]
    results, target_logs = floats(arguments, 3, 0, last), floats(arguments, 4, 0, last)
    for row in range(first, last):
        logits = floats(arguments, 0, row * size, size)
        target = targets[row]
        index = np.int64(0) if target == ignored else target
        highest, total, logit_sum = logits[0], np.float32(0.0), np.float32(0.0)
        for i in range(size):
            highest = logits[i] if logits[i] > highest else highest
        for i in range(size):
            total += exp(logits[i] - highest)
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
def gradients(address):  # type: ignore[no-untyped-def]
    first, last, _, arguments = own_rows(address)
    size, ignored = arguments[6], arguments[7]
    targets, smoothing = integers(arguments, 1, last), floats(arguments, 2, 0, 1)[0]
    target_logs, factors = floats(arguments, 3, 0, last), floats(arguments, 4, 0, last)
    smooth_share = smoothing / np.float32(size)
    for row in range(first, last):
        result = floats(arguments, 5, row * size, size)
        target = targets[row]
        if target == ignored:
            for i in range(size):
                result[i] = np.float32(0.0)
            continue
        logits = floats(arguments, 0, row * size, size)
        factor = factors[row]
        log_sum = (logits[target] if 0 <= target < size else np.float32(np.nan)) - target_logs[row]
        for i in range(size):
            result[i] = factor * (exp(logits[i] - log_sum) - smooth_share)
        if 0 <= target < size:
            # p - 1 as expm1(log p) is exact where p is near 1.
            result[target] = factor * (np.float32(np.expm1(target_logs[row])) + (smoothing - smooth_share))
