"""x / root mean square * gain over the last axis, with its gradient: one pass over memory each."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glasshouse.cpu_kernels.row_kernel import RowKernel, floats, own_rows


class RMSNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, gain: Tensor, epsilon: float) -> Tensor:
        x, gain, width = x.contiguous(), gain.contiguous(), x.shape[-1]
        rows = x.numel() // width
        output, inverses = torch.empty_like(x), x.new_empty(rows)
        normalise(rows, width, x, gain, x.new_tensor([epsilon]), output, inverses, width)
        context.save_for_backward(x, gain, inverses)
        return output

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        x, gain, inverses = context.saved_tensors
        by_x, by_gain = torch.empty_like(x), x.new_zeros(torch.get_num_threads(), len(gain))
        gradients(len(inverses), len(gain), x, gain, inverses, gradient.contiguous(), by_x, by_gain, len(gain))
        return by_x, by_gain.sum(0), None


@RowKernel
def normalise(address):
    first, last, _, arguments = own_rows(address)
    width = arguments[5]
    gain, epsilon = floats(arguments, 1, 0, width), floats(arguments, 2, 0, 1)[0]
    inverses = floats(arguments, 4, 0, last)
    for row in range(first, last):
        x = floats(arguments, 0, row * width, width)
        output = floats(arguments, 3, row * width, width)
        total = np.float32(0.0)
        for i in range(width):
            total += x[i] * x[i]
        inverse = np.float32(1.0) / np.sqrt(total / np.float32(width) + epsilon)
        inverses[row] = inverse
        for i in range(width):
            output[i] = x[i] * inverse * gain[i]


@RowKernel
def gradients(address):
    first, last, thread, arguments = own_rows(address)
    width = arguments[6]
    gain, inverses = floats(arguments, 1, 0, width), floats(arguments, 2, 0, last)
    by_gain = floats(arguments, 5, thread * width, width)
    for row in range(first, last):
        x = floats(arguments, 0, row * width, width)
        gradient = floats(arguments, 3, row * width, width)
        by_x = floats(arguments, 4, row * width, width)
        total = np.float32(0.0)
        for i in range(width):
            total += gradient[i] * gain[i] * x[i]
        inverse = inverses[row]
        slope = total * inverse * inverse / np.float32(width)
        for i in range(width):
            by_x[i] = inverse * (gradient[i] * gain[i] - x[i] * slope)
            by_gain[i] += gradient[i] * (x[i] * inverse)
