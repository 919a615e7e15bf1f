"""Linear cross-entropy: the projection onto the vocabulary and its cross-entropy in one operation, on CUDA in bfloat16.

Memory traffic for the logits takes longer than the matrix products. There are two ways to save it:

- Many predictions of a narrow model: `linear_cross_entropy_kernels` computes tiles of logits where they are used, three
  times in all, and stores none.
- Otherwise the logits are stored, and `cross_entropy_kernels` replaces them by their gradient p - y in one pass. With
  `head.fp8` the factors of all three products have 8 bits, and the gradients are computed at once.

Axes: N predictions, D width, V vocabulary; replicas may precede them.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.parts import fp8_products
from glasshouse.parts.triton_installed import can_build
from glasshouse.tasks import cross_entropy_kernels
from glasshouse.tasks import linear_cross_entropy_kernels as kernels
from glasshouse.tasks.base import Forward
from glasshouse.tasks.cross_entropy import WithoutDerivative, replicas_first

# The largest width whose tiles fit into a multiprocessor's shared memory.
MAX_TILE_WIDTH = 128
# With fewer predictions, of all replicas together, there are too few tiles for all multiprocessors.
LEAST_TILE_ROWS = 1 << 14


class WithFeatures:
    """What this module needs of a model, with features from another function: a compiled one, or one that has them ready."""

    def __init__(self, model: Any, features: Callable[[Tensor], Tensor]) -> None:
        self.head, self.embedding, self.features = model.head, model.embedding, features


def supports(model: Forward, precision: str, device: torch.device) -> bool:
    """Whether the loss of this model can be computed this way in a number format on a device."""
    head = getattr(model, "head", None)
    if not isinstance(head, NextTokenHead) or head.softcap or len(head.future):
        return False
    return device.type == "cuda" and precision == "bf16" and _kernels_work(head.width)


def stores_logits(width: int, predictions: int) -> bool:
    return width > MAX_TILE_WIDTH or predictions < LEAST_TILE_ROWS


@cache
def _kernels_work(width: int) -> bool:
    """Whether the kernels can be built for this width: tiles of a large width may not fit into shared memory."""

    def call_every_kernel() -> None:
        features, matrix = (torch.zeros(1, 300, width, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        targets = torch.zeros(1, 300, device="cuda", dtype=torch.int64)
        cross_entropy_kernels.losses_and_gradients(features @ matrix.mT, targets, 0.0)
        if width <= MAX_TILE_WIDTH:
            _, log_sums = kernels.losses(features, matrix, None, targets, 0.0)
            kernels.gradients(features, matrix, None, targets, log_sums, torch.ones(1, device="cuda"), 0.0)

    return can_build(call_every_kernel)


def usable(model: Forward) -> bool:
    """Whether the loss can be computed this way here: with gradients, not under torch.compile, which skips the kernels."""
    if torch.compiler.is_compiling() or not (torch.is_autocast_enabled("cuda") and torch.is_grad_enabled()):
        return False
    weight = getattr(getattr(model, "embedding", None), "weight", None)
    return weight is not None and supports(model, "bf16", weight.device)


def loss_sum(model: Any, tokens_BT: Tensor, targets_N: Tensor, smoothing: float = 0.0) -> Tensor:
    """The value of `cross_entropy_sum` for the model's logits on these tokens."""
    features_ND = model.features(tokens_BT).flatten(0, 1).bfloat16()
    matrix_VD = model.head.matrix(model.embedding.weight)
    if model.head.fp8 and fp8_products.fits(targets_N.shape) and stores_logits(model.head.width, targets_N.numel()):
        return fp8_loss_sum(features_ND, matrix_VD, targets_N, smoothing)
    return loss_sum_from_features(features_ND, matrix_VD, model.head.bias, targets_N, smoothing)


def loss_sum_from_features(
    features_ND: Tensor, matrix_VD: Tensor, bias_V: Tensor | None, targets_N: Tensor, smoothing: float = 0.0
) -> Tensor:
    return _Sum.apply(features_ND, matrix_VD, bias_V, targets_N, smoothing)[0]


def fp8_loss_sum(features_ND: Tensor, matrix_VD: Tensor, targets_N: Tensor, smoothing: float = 0.0) -> Tensor:
    """The same for the logits W x of one model, with products in 8 bits."""
    return _Fp8Sum.apply(features_ND, matrix_VD, targets_N, smoothing)


class _Sum(torch.autograd.Function):
    """-> the summed losses (...), and for the gradient either that of the logits (..., N, V), if they are stored, or the
    log-sum-exp of each prediction's logits (..., N)."""

    @staticmethod
    def forward(
        features: Tensor, matrix: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        if stores_logits(features.shape[-1], targets.numel()):
            logits = torch.matmul(features.bfloat16(), matrix.bfloat16().mT)
            if bias is not None:
                logits += bias.unsqueeze(-2)
            losses = cross_entropy_kernels.losses_and_gradients(logits, targets.contiguous(), smoothing)
            return losses.sum(-1), logits
        losses, log_sums = kernels.losses(*_kernel_inputs(features, matrix, bias, targets), smoothing)
        return losses.sum(-1).reshape(targets.shape[:-1]), log_sums.reshape(targets.shape)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        context.smoothing = inputs[-1]
        # The second output has no gradient, and zeros in its place could be as large as the logits.
        context.set_materialize_grads(False)
        context.mark_non_differentiable(output[1])
        context.save_for_backward(*inputs[:-1], output[1])

    @staticmethod
    def backward(context: Any, gradient: Tensor, _: None) -> tuple[Any, ...]:
        features, matrix, bias, targets, saved = context.saved_tensors
        if saved.dim() == targets.dim():
            return *_Gradient.apply(features, matrix, bias, targets, saved, gradient, context.smoothing), None, None
        factor = gradient[..., None, None]
        by_features = torch.matmul(saved, matrix.bfloat16()).to(features.dtype) * factor
        by_matrix = torch.matmul(saved.mT, features.bfloat16()).to(matrix.dtype) * factor
        by_bias = None if bias is None else saved.sum(-2, dtype=torch.float32) * gradient[..., None]
        return by_features, by_matrix, by_bias, None, None

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        return _Sum.apply(*replicas_first(info, axes, *inputs)), (0, 0)


class _Gradient(WithoutDerivative):
    """The gradients of `_Sum` with respect to its inputs; `gradient` is that of its value."""

    @staticmethod
    def forward(
        features: Tensor,
        matrix: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        log_sums: Tensor,
        gradient: Tensor,
        smoothing: float,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        inputs = _kernel_inputs(features, matrix, bias, targets)
        results: Any = kernels.gradients(*inputs, log_sums.contiguous(), gradient.reshape(-1).contiguous(), smoothing)
        by_features, by_matrix = (
            result.reshape(value.shape).to(value.dtype)
            for result, value in zip(results[:2], (features, matrix), strict=True)
        )
        return by_features, by_matrix, None if bias is None else results[2].reshape(bias.shape).to(bias.dtype)

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Any, ...], tuple[int | None, ...]]:
        gradients = _Gradient.apply(*replicas_first(info, axes, *inputs))
        return gradients, tuple(None if gradient is None else 0 for gradient in gradients)


class _Fp8Sum(torch.autograd.Function):
    """The value of `fp8_loss_sum`. The gradients are computed with it, so that the logits can be forgotten at once."""

    @staticmethod
    def forward(context: Any, features_ND: Tensor, matrix_VD: Tensor, targets_N: Tensor, smoothing: float) -> Tensor:
        (x, x_scale), (w, w_scale) = fp8_products.scaled_whole(features_ND), fp8_products.scaled_whole(matrix_VD)
        transposed = cross_entropy_kernels.transposed
        bf16 = torch.bfloat16
        logits = torch._scaled_mm(x, w.t(), x_scale, w_scale, out_dtype=bf16, use_fast_accum=True)
        losses, gradient = cross_entropy_kernels.losses_and_fp8_gradients(logits, targets_N.contiguous(), smoothing)
        del logits
        unit = torch.full_like(x_scale, 1 / cross_entropy_kernels.FP8_SCALE)
        by_features = torch._scaled_mm(gradient, transposed(w).t(), unit, w_scale, out_dtype=bf16)
        by_matrix = torch._scaled_mm(transposed(gradient), transposed(x).t(), unit, x_scale, out_dtype=bf16)
        context.save_for_backward(by_features, by_matrix)
        context.formats = features_ND.dtype, matrix_VD.dtype
        return losses.sum()

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Any, ...]:
        results = (saved.to(dtype) * gradient for saved, dtype in zip(context.saved_tensors, context.formats, strict=True))
        return *results, None, None


def _kernel_inputs(
    features: Tensor, matrix: Tensor, bias: Tensor | None, targets: Tensor
) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """The inputs with an axis of replicas (of size one, if there are none), in the number formats of the kernels."""
    if single := features.dim() == 2:
        features, matrix, targets = features[None], matrix[None], targets[None]
    if bias is not None:
        bias = (bias[None] if single else bias).float().contiguous()
    return features.bfloat16().contiguous(), matrix.bfloat16().contiguous(), bias, targets.contiguous()
