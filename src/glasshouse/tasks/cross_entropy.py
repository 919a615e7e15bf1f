"""Cross-entropy for training: its sum over many predictions, and a gradient that needs few passes over the logits.

The logits are saved in the model's own number format, and the backward pass computes the probabilities again. Replicas add a
first axis; the `vmap` rules here need fewer passes than torch's. `cross_entropy_kernels` and `cpu_kernels` need fewer.

Axes: N predictions, V vocabulary; replicas may precede them.
"""

from typing import Any

import torch
from torch import Tensor

from glasshouse import cpu_kernels
from glasshouse.tasks import cross_entropy_kernels as kernels
from glasshouse.tasks.base import IGNORED


def cross_entropy_sum(logits_NV: Tensor, targets_N: Tensor, smoothing: float = 0.0) -> Tensor:
    """The sum of -log p(target) over all targets that are not IGNORED.

    With label smoothing s, the target token has the probability 1 - s + s/V and every other token s/V.
    """
    if logits_NV.dim() == 2 and cpu_kernels.usable(logits_NV):
        return cpu_kernels.cross_entropy_sum(logits_NV, targets_N, smoothing, IGNORED)
    return _Sum.apply(logits_NV, targets_N, smoothing)[0]


def target_losses(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """-log p(target) of each target, without a gradient; 0 where the target is IGNORED."""
    return torch.where(targets_N != IGNORED, -_Sum.apply(logits_NV, targets_N, 0.0)[1], 0.0)


class _Sum(torch.autograd.Function):
    """Logits (..., N, V), targets (..., N) -> summed losses (...), log-probabilities of the targets (..., N), in float32."""

    @staticmethod
    def forward(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        if kernels.usable(logits):
            losses, target_logs = kernels.losses(logits, targets, smoothing)
            return losses.sum(-1), target_logs
        scored, index = _scored_targets(targets)
        with torch.autocast(logits.device.type, enabled=False):
            log_probabilities = torch.log_softmax(logits, -1, dtype=torch.float32)
        target_logs = log_probabilities.gather(-1, index[..., None])[..., 0]
        losses = -target_logs
        if smoothing:
            losses = (1 - smoothing) * losses - smoothing * log_probabilities.mean(-1)
        return torch.where(scored, losses, 0.0).sum(-1), target_logs

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        logits, targets, context.smoothing = inputs
        context.mark_non_differentiable(output[1])
        context.save_for_backward(logits, targets, output[1])

    @staticmethod
    def backward(context: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        return _Gradient.apply(*context.saved_tensors, gradient, context.smoothing), None, None

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        return _Sum.apply(*replicas_first(info, axes, *inputs)), (0, 0)


class WithoutDerivative(torch.autograd.Function):
    """A function that computes a gradient, and has no derivative of its own."""

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Any) -> None:
        return


class _Gradient(WithoutDerivative):
    """The gradient of `_Sum` with respect to the logits; `gradient` is that of its value."""

    @staticmethod
    def forward(logits: Tensor, targets: Tensor, target_logs: Tensor, gradient: Tensor, smoothing: float) -> Tensor:
        if kernels.usable(logits):
            return kernels.gradients(logits, targets, target_logs, gradient, smoothing)
        scored, index = _scored_targets(targets)
        with torch.autocast(logits.device.type, enabled=False):
            result = torch.softmax(logits, -1)
        smooth_share = smoothing / logits.shape[-1]
        if smooth_share:
            result -= smooth_share
        # p - 1 as expm1(log p): if p is near 1, a coarse number format would round the difference to 0.
        target_gradients = (target_logs.expm1() + (smoothing - smooth_share)).to(result.dtype)
        result.scatter_(-1, index[..., None], target_gradients[..., None])
        return result.mul_(torch.where(scored, gradient[..., None], 0.0)[..., None])

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        return _Gradient.apply(*replicas_first(info, axes, *inputs)), 0


def _scored_targets(targets: Tensor) -> tuple[Tensor, Tensor]:
    """(which targets are not IGNORED, the targets with 0 in place of IGNORED, so that they are valid indices)."""
    scored = targets != IGNORED
    return scored, torch.where(scored, targets, 0)


def replicas_first(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> list[Any]:
    """The inputs of a `vmap` rule, with the axis of the replicas first in every tensor."""

    def with_first_axis(value: Any, axis: int | None) -> Any:
        if not isinstance(value, Tensor):
            return value
        return value.expand(info.batch_size, *value.shape) if axis is None else value.movedim(axis, 0)

    return [with_first_axis(value, axis) for value, axis in zip(inputs, axes, strict=True)]
