"""Cross-entropy for training: its sum over many predictions, and the gradient in few passes over the logits.

The logits are by far the largest tensor of a small language model. They are kept as they came (in bfloat16 where the model
computes in it) and turned into probabilities once more in the backward pass, so that neither their logarithms nor a float32
copy is held in between. Replicas add an axis in front, for which `vmap` finds a rule here; torch's own takes more passes.
On CUDA `cross_entropy_kernels` does the work in fewer still.

Axes: N predictions, V vocabulary; before them replicas, or nothing.
"""

from typing import Any

import torch
from torch import Tensor

from glasshouse.tasks import cross_entropy_kernels as kernels
from glasshouse.tasks.base import IGNORED


def cross_entropy_sum(logits_NV: Tensor, targets_N: Tensor, smoothing: float = 0.0) -> Tensor:
    """The sum of -log p(target) where it is not IGNORED. With smoothing s a target has 1 - s + s/V, any other token s/V."""
    return _Sum.apply(logits_NV, targets_N, smoothing)[0]


class _Sum(torch.autograd.Function):
    """(..., N, V) and (..., N) -> (...), and the logarithm of each target's probability, (..., N), both in float32."""

    @staticmethod
    def forward(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        if kernels.usable(logits):
            losses, of_targets = kernels.value(logits, targets, smoothing)
            return losses.sum(-1), of_targets
        kept, known = _kept(targets)
        with torch.autocast(logits.device.type, enabled=False):
            logs = torch.log_softmax(logits, -1, dtype=torch.float32)
        of_targets = logs.gather(-1, known[..., None])[..., 0]
        losses = -of_targets
        if smoothing:
            losses = (1 - smoothing) * losses - smoothing * logs.mean(-1)
        return torch.where(kept, losses, 0.0).sum(-1), of_targets

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, Tensor, float], output: tuple[Tensor, Tensor]) -> None:
        logits, targets, context.smoothing = inputs
        context.mark_non_differentiable(output[1])
        context.save_for_backward(logits, targets, output[1])

    @staticmethod
    def backward(context: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        return _Gradient.apply(*context.saved_tensors, gradient, context.smoothing), None, None

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        return _Sum.apply(*in_front(info, axes, *inputs)), (0, 0)


class _Gradient(torch.autograd.Function):
    """The gradient of `_Sum` by its logits, given that by its value. Of its own gradient there is none."""

    @staticmethod
    def forward(logits: Tensor, targets: Tensor, of_targets: Tensor, gradient: Tensor, smoothing: float) -> Tensor:
        if kernels.usable(logits):
            return kernels.slope(logits, targets, of_targets, gradient, smoothing)
        kept, known = _kept(targets)
        with torch.autocast(logits.device.type, enabled=False):
            found = torch.softmax(logits, -1)
        every = smoothing / logits.shape[-1]
        if every:
            found -= every
        # p - 1, which a coarse format would not tell from 0 where p is near 1.
        of_targets = (of_targets.expm1() + (smoothing - every)).to(found.dtype)
        found.scatter_(-1, known[..., None], of_targets[..., None])
        return found.mul_(torch.where(kept, gradient[..., None], 0.0)[..., None])

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        return

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Any:
        raise NotImplementedError("the cross-entropy of training has no second derivative")

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        return _Gradient.apply(*in_front(info, axes, *inputs)), 0


def _kept(targets: Tensor) -> tuple[Tensor, Tensor]:
    """(which predictions count, targets that can be looked up)."""
    kept = targets != IGNORED
    return kept, torch.where(kept, targets, 0)


def in_front(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> list[Any]:
    """The inputs, those that are tensors with the axis of the replicas first."""

    def moved(given: Any, axis: int | None) -> Any:
        if not isinstance(given, Tensor):
            return given
        return given.expand(info.batch_size, *given.shape) if axis is None else given.movedim(axis, 0)

    return [moved(given, axis) for given, axis in zip(inputs, axes, strict=True)]
