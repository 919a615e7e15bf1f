"""Matrix products of 8-bit numbers, for training on NVIDIA GPUs that have them (Ada, Hopper and later).

The format is e4m3: 4 bits of exponent and 3 of mantissa. Every row of a factor is divided by a scale of its own, so that its
largest number becomes 448 (Micikevicius et al., FP8 Formats for Deep Learning, 2022). Sums are float32, results bfloat16.

The gradient of a linear layer's weights sums over tokens and needs both factors transposed. It stays in bfloat16: the copies
would take as long as they save.

Axes: N rows, I inputs, O outputs.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

FORMAT = torch.float8_e4m3fn
# Axes of the factors must be multiples of this.
MULTIPLE = 16
# The first GPUs with such products, by compute capability.
FIRST_CAPABILITY = (8, 9)


def scaled_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """(8-bit numbers, a scale for each row, with a last axis of one), whose product is x up to rounding."""
    return _scaled(x, x.abs().amax(-1, keepdim=True))


def scaled_whole(x: Tensor) -> tuple[Tensor, Tensor]:
    """(8-bit numbers, one scale), whose product is x up to rounding."""
    return _scaled(x, x.abs().amax())


def _scaled(x: Tensor, largest: Tensor) -> tuple[Tensor, Tensor]:
    scale = (largest.float() / torch.finfo(FORMAT).max).clamp(min=1e-30)
    return (x * (1 / scale)).to(FORMAT).contiguous(), scale


def product(x_NI: Tensor, x_scale: Tensor, weight_OI: Tensor, weight_scale: Tensor, fast: bool = True) -> Tensor:
    """x W^T in bfloat16, of factors from `scaled_rows`. A fast sum has fewer bits than float32."""
    if x_NI.is_cuda:
        return torch._scaled_mm(
            x_NI, weight_OI.t(), x_scale, weight_scale.t(), out_dtype=torch.bfloat16, use_fast_accum=fast
        )
    # What the GPU computes, for tests.
    return ((x_NI.float() * x_scale) @ (weight_OI.float() * weight_scale).T).bfloat16()


def available(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= FIRST_CAPABILITY


def fits(shape: Sequence[int]) -> bool:
    """Whether products with a matrix of this shape can be computed in 8 bits."""
    return not any(axis % MULTIPLE for axis in shape)


def linear(x: Tensor, weight_OI: Tensor, bias_O: Tensor | None) -> Tensor:
    """The same as `F.linear` in bfloat16, up to the rounding of the factors to 8 bits."""
    result = _Linear.apply(x.flatten(0, -2), weight_OI).unflatten(0, x.shape[:-1])
    return result if bias_O is None else result + bias_O.to(result.dtype)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x_NI: Tensor, weight_OI: Tensor) -> Tensor:
        context.save_for_backward(x_NI.bfloat16(), weight_OI)
        context.input_format = x_NI.dtype
        return product(*scaled_rows(x_NI), *scaled_rows(weight_OI))

    @staticmethod
    def backward(context: Any, gradient_NO: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x_NI, weight_OI = context.saved_tensors
        by_input = by_weight = None
        if context.needs_input_grad[0]:
            by_input = product(*scaled_rows(gradient_NO), *scaled_rows(weight_OI.T), fast=False).to(context.input_format)
        if context.needs_input_grad[1]:
            by_weight = (gradient_NO.bfloat16().T @ x_NI).to(weight_OI.dtype)
        return by_input, by_weight
