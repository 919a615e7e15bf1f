"""The kernels of `cross_entropy` for CUDA, in Triton: the logits are read once for the value, and once for the gradient.

Triton comes with torch for CUDA. Where it is missing `cross_entropy` does the same in plain operations, which read and write
the logits about twice as often. A row is one prediction: V logits in a stretch of memory, one program's work.
"""

import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from glasshouse.tasks.base import IGNORED

HERE = find_spec("triton") is not None
# Logits that a program holds at a time, at most.
BLOCK = 2048

if HERE:
    import triton
    import triton.language as tl

    @triton.jit
    def _value(  # type: ignore[no-untyped-def]
        logits,
        targets,
        losses,
        of_targets,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        row = tl.program_id(0).to(tl.int64)
        start = logits + row * size
        # Lanes keep a maximum and a sum each, and are brought together at the end.
        highest = tl.full((BLOCK,), -1e38, tl.float32)
        sums = tl.zeros((BLOCK,), tl.float32)
        plain = tl.zeros((BLOCK,), tl.float32)
        for first in range(0, size, BLOCK):
            column = first + tl.arange(0, BLOCK)
            here = tl.load(start + column, mask=column < size, other=float("-inf")).to(tl.float32)
            higher = tl.maximum(highest, here)
            sums = sums * tl.exp(highest - higher) + tl.exp(here - higher)
            highest = higher
            if smoothing > 0:
                plain += tl.where(column < size, here, 0.0)
        top = tl.max(highest, 0)
        logarithm = top + tl.log(tl.sum(sums * tl.exp(highest - top), 0))
        target = tl.load(targets + row)
        kept = target != IGNORED
        known = tl.where(kept, target, 0)
        # A target that is no token makes the loss no number, and reads no foreign memory.
        own = tl.load(start + known, mask=(known >= 0) & (known < size), other=float("nan")).to(tl.float32) - logarithm
        loss = -own
        if smoothing > 0:
            loss = loss - smoothing * (tl.sum(plain, 0) / size - logarithm - own)
        tl.store(of_targets + row, own)
        tl.store(losses + row, tl.where(kept, loss, 0.0))

    @triton.jit
    def _slope(  # type: ignore[no-untyped-def]
        logits,
        targets,
        of_targets,
        gradients,
        found,
        rows,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        row = tl.program_id(0).to(tl.int64)
        start = logits + row * size
        target = tl.load(targets + row)
        kept = target != IGNORED
        known = tl.where(kept, target, 0)
        factor = tl.where(kept, tl.load(gradients + row // rows).to(tl.float32), 0.0)
        logarithm = tl.load(start + known).to(tl.float32) - tl.load(of_targets + row)
        every = smoothing / size
        for first in range(0, size, BLOCK):
            column = first + tl.arange(0, BLOCK)
            here = tl.load(start + column, mask=column < size, other=float("-inf")).to(tl.float32)
            wanted = tl.where(column == known, 1.0 - smoothing, 0.0) + every
            slope = (tl.exp(here - logarithm) - wanted) * factor
            tl.store(found + row * size + column, slope.to(found.dtype.element_ty), mask=column < size)


def built(kernels: Callable[[], object]) -> bool:
    """Whether kernels can be built here, by calling them: Triton needs a C compiler and Python's headers besides itself."""
    if not (HERE and torch.cuda.is_available()):
        return False
    try:
        kernels()
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        warnings.warn(
            f"Triton cannot build kernels, so plain operations are used, which take longer: {reason}", stacklevel=2
        )
        return False
    return True


@cache
def _work() -> bool:
    return built(lambda: value(torch.zeros(1, 2, device="cuda"), torch.zeros(1, dtype=torch.int64, device="cuda"), 0.0))


def usable(logits: Tensor) -> bool:
    """Whether the kernels can be had for a tensor. A compiler writes its own."""
    return logits.is_cuda and not torch.compiler.is_compiling() and _work()


def _block(size: int) -> int:
    return min(BLOCK, 1 << (size - 1).bit_length())


def value(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """(..., N, V) and (..., N) -> the loss of each prediction and the logarithm of each target's probability, (..., N)."""
    logits, targets = logits.contiguous(), targets.contiguous()
    losses, of_targets = (torch.empty(targets.shape, device=logits.device) for _ in range(2))
    size = logits.shape[-1]
    _value[(targets.numel(),)](logits, targets, losses, of_targets, size, smoothing, IGNORED, _block(size))
    return losses, of_targets


def slope(logits: Tensor, targets: Tensor, of_targets: Tensor, gradient: Tensor, smoothing: float) -> Tensor:
    """The gradient by the logits, given that by the sum over N, (...)."""
    logits, targets, of_targets = logits.contiguous(), targets.contiguous(), of_targets.contiguous()
    found, size, rows = torch.empty_like(logits), logits.shape[-1], targets.shape[-1]
    gradient = gradient.expand(targets.shape[:-1]).contiguous()
    _slope[(targets.numel(),)](logits, targets, of_targets, gradient, found, rows, size, smoothing, IGNORED, _block(size))
    return found
