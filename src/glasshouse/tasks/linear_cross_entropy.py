"""The projection onto the vocabulary and its cross-entropy in one, where the logits need never be written out.

They are by far the largest tensor of a small language model, and writing and reading them takes longer than the products
themselves. On CUDA in bfloat16 tiles of them are made where they are used, three times over (`projection_kernels`); in
float32 products take longer, and the logits are worth keeping (`cross_entropy`).

Axes: N predictions, D width, V vocabulary; before them replicas, or nothing.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.tasks import linear_cross_entropy_kernels as kernels
from glasshouse.tasks.base import Forward
from glasshouse.tasks.cross_entropy import in_front
from glasshouse.tasks.cross_entropy_kernels import built

# Features whose tiles fit into a processor's fast memory; a wider model spends its time elsewhere anyway.
WIDEST = 128


def foreseen(model: Forward, precision: str, device: torch.device) -> bool:
    """Whether the loss of this model can be had so in a format, on a device."""
    head = getattr(model, "head", None)
    if not isinstance(head, NextTokenHead) or head.width > WIDEST:
        return False
    return device.type == "cuda" and precision == "bf16" and _work(head.width)


@cache
def _work(width: int) -> bool:
    """Whether there are kernels for such features: wide ones may be too much for a processor's fast memory."""

    def kernels_of_each_kind() -> None:
        features, matrix = (torch.zeros(1, 300, width, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        targets = torch.zeros(1, 300, device="cuda", dtype=torch.int64)
        _, logarithms = kernels.value(features, matrix, None, targets, 0.0)
        kernels.slopes(features, matrix, None, targets, logarithms, torch.ones(1, device="cuda"), 0.0)

    return built(kernels_of_each_kind)


def usable(model: Forward) -> bool:
    """Whether it can be had so here and now. A compiler writes its own kernels."""
    if torch.compiler.is_compiling() or not torch.is_autocast_enabled("cuda"):
        return False
    weight = getattr(getattr(model, "embedding", None), "weight", None)
    return weight is not None and foreseen(model, "bf16", weight.device)


def loss_sum(model: Any, tokens_BT: Tensor, targets_N: Tensor, smoothing: float = 0.0) -> Tensor:
    """What `cross_entropy_sum` gives for the model's answer to the tokens."""
    features_ND = model.features(tokens_BT).flatten(0, 1)
    return of_features(features_ND, model.head.matrix(model.embedding.weight), model.head.bias, targets_N, smoothing)


def of_features(
    features_ND: Tensor, matrix_VD: Tensor, bias_V: Tensor | None, targets_N: Tensor, smoothing: float = 0.0
) -> Tensor:
    """What `cross_entropy_sum` gives for the logits W x + b."""
    return _Sum.apply(features_ND, matrix_VD, bias_V, targets_N, smoothing)[0]


class _Sum(torch.autograd.Function):
    """The sum of the losses (...), and what the gradient needs of each prediction (..., N)."""

    @staticmethod
    def forward(
        features: Tensor, matrix: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        losses, logarithms = kernels.value(*_ready(features, matrix, bias, targets), smoothing)
        return losses.sum(-1).reshape(targets.shape[:-1]), logarithms.reshape(targets.shape)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        context.smoothing = inputs[-1]
        context.mark_non_differentiable(output[1])
        context.save_for_backward(*inputs[:-1], output[1])

    @staticmethod
    def backward(context: Any, gradient: Tensor, _: Tensor) -> tuple[Any, ...]:
        return *_Gradient.apply(*context.saved_tensors, gradient, context.smoothing), None, None

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        return _Sum.apply(*in_front(info, axes, *inputs)), (0, 0)


class _Gradient(torch.autograd.Function):
    """The gradients of `_Sum`, given that by its value. Of their own gradient there is none."""

    @staticmethod
    def forward(
        features: Tensor,
        matrix: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        logarithms: Tensor,
        gradient: Tensor,
        smoothing: float,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        ready = _ready(features, matrix, bias, targets)
        found: Any = kernels.slopes(*ready, logarithms.contiguous(), gradient.reshape(-1).contiguous(), smoothing)
        by_features, by_matrix = (
            slope.reshape(own.shape).to(own.dtype) for slope, own in zip(found[:2], (features, matrix), strict=True)
        )
        return by_features, by_matrix, None if bias is None else found[2].reshape(bias.shape).to(bias.dtype)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Any) -> None:
        return

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Any:
        raise NotImplementedError("the cross-entropy of training has no second derivative")

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Any, ...], tuple[int | None, ...]]:
        found = _Gradient.apply(*in_front(info, axes, *inputs))
        return found, tuple(None if slope is None else 0 for slope in found)


def _ready(
    features: Tensor, matrix: Tensor, bias: Tensor | None, targets: Tensor
) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """With an axis of replicas, if only one, in the formats that the kernels multiply."""
    if one := features.dim() == 2:
        features, matrix, targets = features[None], matrix[None], targets[None]
    if bias is not None:
        bias = (bias[None] if one else bias).float().contiguous()
    return features.bfloat16().contiguous(), matrix.bfloat16().contiguous(), bias, targets.contiguous()
