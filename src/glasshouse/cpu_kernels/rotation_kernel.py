"""Rotary positions: the features (i, i + E/2) of each head, rotated. The gradient is the rotation back.

Axes: B batch, H heads, T time, E head width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glasshouse.cpu_kernels.row_kernel import RowKernel, floats, own_rows


class RotationFunction(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        context.save_for_backward(cosine, sine)
        return _rotated(x, cosine, sine)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        cosine, sine = context.saved_tensors
        return _rotated(gradient, cosine, -sine), None, None


def _rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    if x.stride(-1) != 1:
        x = x.contiguous()
    batch, heads, tokens, width = x.shape
    output = x.new_empty(batch, tokens, heads, width)
    strides = x.stride()[:3]
    rotate(batch * tokens, heads * width, x, cosine, sine, output, tokens, heads, width, *strides)
    return output.transpose(1, 2)


@RowKernel
def rotate(address):  # type: ignore[no-untyped-def]
    """A row is a token of the batch."""
    first, last, _, arguments = own_rows(address)
    tokens, heads, width = arguments[4], arguments[5], arguments[6]
    half = width // 2
    for row in range(first, last):
        time = row % tokens
        cosine, sine = floats(arguments, 1, time * half, half), floats(arguments, 2, time * half, half)
        start = row // tokens * arguments[7] + time * arguments[9]
        for head in range(heads):
            x = floats(arguments, 0, start + head * arguments[8], width)
            output = floats(arguments, 3, (row * heads + head) * width, width)
            for i in range(half):
                a, b = x[i], x[half + i]
                output[i] = a * cosine[i] - b * sine[i]
                output[half + i] = b * cosine[i] + a * sine[i]
