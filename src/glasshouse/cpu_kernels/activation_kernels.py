"""Activation functions with their derivatives: SwiGLU, GELU in its tanh approximation, and squared ReLU."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glasshouse.cpu_kernels.exponential import sigmoid
from glasshouse.cpu_kernels.row_kernel import RowKernel, floats, own_rows

ONE = np.float32(1.0)
# (1 + tanh(z)) / 2 = sigmoid(2 z), 2 z = SCALE (x + CUBIC x^3).
SCALE = np.float32(math.sqrt(8 / math.pi))
CUBIC = np.float32(0.044715)


class SwiGLUFunction(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, gate: Tensor, up: Tensor) -> Tensor:
        gate, up = gate.contiguous(), up.contiguous()
        context.save_for_backward(gate, up)
        output = torch.empty_like(gate)
        swiglu(gate.numel(), 1, gate, up, output)
        return output

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        gate, up = context.saved_tensors
        by_gate, by_up = torch.empty_like(gate), torch.empty_like(gate)
        swiglu_gradient(gate.numel(), 1, gate, up, gradient.contiguous(), by_gate, by_up)
        return by_gate, by_up


class ActivationFunction(torch.autograd.Function):
    """A function of each number, by two kernels."""

    @staticmethod
    def forward(context: Any, x: Tensor, function: RowKernel, derivative: RowKernel) -> Tensor:
        x = x.contiguous()
        context.save_for_backward(x)
        context.derivative = derivative
        output = torch.empty_like(x)
        function(x.numel(), 1, x, output)
        return output

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (x,) = context.saved_tensors
        result = torch.empty_like(x)
        context.derivative(x.numel(), 1, x, gradient.contiguous(), result)
        return result, None, None


@RowKernel
def swiglu(address):  # type: ignore[no-untyped-def]
    first, last, _, arguments = own_rows(address)
    count = last - first
    gate = floats(arguments, 0, first, count)
    up = floats(arguments, 1, first, count)
    output = floats(arguments, 2, first, count)
    for i in range(count):
        output[i] = gate[i] * sigmoid(gate[i]) * up[i]


@RowKernel
def swiglu_gradient(address):  # type: ignore[no-untyped-def]
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
def gelu(address):  # type: ignore[no-untyped-def]
    first, last, _, arguments = own_rows(address)
    count = last - first
    x, output = floats(arguments, 0, first, count), floats(arguments, 1, first, count)
    for i in range(count):
        output[i] = x[i] * sigmoid(SCALE * x[i] * (ONE + CUBIC * (x[i] * x[i])))


@RowKernel
def gelu_gradient(address):  # type: ignore[no-untyped-def]
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
def squared_relu(address):  # type: ignore[no-untyped-def]
    first, last, _, arguments = own_rows(address)
    count = last - first
    x, output = floats(arguments, 0, first, count), floats(arguments, 1, first, count)
    for i in range(count):
        positive = np.float32(0.0) if x[i] < 0 else x[i]
        output[i] = positive * positive


@RowKernel
def squared_relu_gradient(address):  # type: ignore[no-untyped-def]
    first, last, _, arguments = own_rows(address)
    count = last - first
    x = floats(arguments, 0, first, count)
    gradient = floats(arguments, 1, first, count)
    result = floats(arguments, 2, first, count)
    for i in range(count):
        positive = np.float32(0.0) if x[i] < 0 else x[i]
        result[i] = np.float32(2.0) * positive * gradient[i]
