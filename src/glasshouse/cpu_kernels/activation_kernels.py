"""Activation functions with their derivatives: SwiGLU, GELU in its tanh approximation, and squared ReLU."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glasshouse.cpu_kernels.row_kernel import RowKernel, floats, own_rows, sigmoid

ONE = np.float32(1.0)
# (1 + tanh(z)) / 2 = sigmoid(2 z), 2 z = SCALE (x + CUBIC x^3).
SCALE = np.float32(math.sqrt(8 / math.pi))
CUBIC = np.float32(0.044715)


class ActivationFunction(torch.autograd.Function):
    """A function of the numbers at the same place of its inputs, by two kernels."""

    @staticmethod
    def forward(context: Any, function: RowKernel, derivative: RowKernel, *inputs: Tensor) -> Tensor:
        inputs = tuple(x.contiguous() for x in inputs)
        context.save_for_backward(*inputs)
        context.derivative = derivative
        output = torch.empty_like(inputs[0])
        function(output.numel(), 1, *inputs, output)
        return output

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs = context.saved_tensors  # recomputed activations can be asked for once
        results = [torch.empty_like(x) for x in inputs]
        context.derivative(gradient.numel(), 1, *inputs, gradient.contiguous(), *results)
        return None, None, *results


@RowKernel
def swiglu(address):
    first, last, _, arguments = own_rows(address)
    count = last - first
    gate = floats(arguments, 0, first, count)
    up = floats(arguments, 1, first, count)
    output = floats(arguments, 2, first, count)
    for i in range(count):
        output[i] = gate[i] * sigmoid(gate[i]) * up[i]


@RowKernel
def swiglu_gradient(address):
    first, last, _, arguments = own_rows(address)
    count = last - first
    gate = floats(arguments, 0, first, count)
    up = floats(arguments, 1, first, count)
    gradient = floats(arguments, 2, first, count)
    by_gate = floats(arguments, 3, first, count)
    by_up = floats(arguments, 4, first, count)
    for i in range(count):
        share = sigmoid(gate[i])
        silu = gate[i] * share
        by_up[i] = gradient[i] * silu
        by_gate[i] = gradient[i] * up[i] * (share + silu * (ONE - share))


@RowKernel
def gelu(address):
    first, last, _, arguments = own_rows(address)
    count = last - first
    x, output = floats(arguments, 0, first, count), floats(arguments, 1, first, count)
    for i in range(count):
        output[i] = x[i] * sigmoid(SCALE * x[i] * (ONE + CUBIC * (x[i] * x[i])))


@RowKernel
def gelu_gradient(address):
    first, last, _, arguments = own_rows(address)
    count = last - first
    x = floats(arguments, 0, first, count)
    gradient = floats(arguments, 1, first, count)
    result = floats(arguments, 2, first, count)
    for i in range(count):
        square = CUBIC * (x[i] * x[i])
        inner = SCALE * x[i]
        share = sigmoid(inner * (ONE + square))
        result[i] = gradient[i] * (share + inner * (ONE + np.float32(3.0) * square) * (share * (ONE - share)))


@RowKernel
def squared_relu(address):
    first, last, _, arguments = own_rows(address)
    count = last - first
    x, output = floats(arguments, 0, first, count), floats(arguments, 1, first, count)
    for i in range(count):
        positive = np.float32(0.0) if x[i] < 0 else x[i]
        output[i] = positive * positive


@RowKernel
def squared_relu_gradient(address):
    first, last, _, arguments = own_rows(address)
    count = last - first
    x = floats(arguments, 0, first, count)
    gradient = floats(arguments, 1, first, count)
    result = floats(arguments, 2, first, count)
    for i in range(count):
        positive = np.float32(0.0) if x[i] < 0 else x[i]
        result[i] = np.float32(2.0) * positive * gradient[i]
