"""Kernels for training on a CPU: what torch computes by a chain of operations, in one pass over memory.

They are compiled by numba when training first needs them, cached on disk, and run on torch's own threads. A step of a small
model is hundreds of operations, each of which takes microseconds to start; on ARM, torch's exponentials are slow too.
Importing this package imports no numba: each function here imports its kernels.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

# With fewer numbers the operations of torch take as long, and numba is not worth its import.
LEAST_NUMBERS = 1 << 14

_switched_on = True


@contextmanager
def switched_off() -> Iterator[None]:
    """Within the block the plain operations of torch are used. For comparisons."""
    global _switched_on
    before, _switched_on = _switched_on, False
    try:
        yield
    finally:
        _switched_on = before


def usable(*tensors: Tensor) -> bool:
    """Whether these kernels can take the tensors, the largest first: in training, in float32, on a CPU, as they are."""
    largest = tensors[0]
    return (
        largest.device.type == "cpu"
        and type(largest) in (Tensor, nn.Parameter)  # the tensors of a cost plan have no memory
        and largest.numel() >= LEAST_NUMBERS
        and all(tensor.dtype == torch.float32 for tensor in tensors)
        and _switched_on
        and torch.is_grad_enabled()
        and any(tensor.requires_grad for tensor in tensors)
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
        and not any(torch._C._functorch.is_functorch_wrapped_tensor(tensor) for tensor in tensors)
    )


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up."""
    from glasshouse.cpu_kernels import activation_kernels as kernels

    return kernels.ActivationFunction.apply(kernels.swiglu, kernels.swiglu_gradient, gate, up)


def gelu(x: Tensor) -> Tensor:
    """x sigmoid(sqrt(8 / pi) (x + 0.044715 x^3)): the tanh approximation."""
    from glasshouse.cpu_kernels import activation_kernels as kernels

    return kernels.ActivationFunction.apply(kernels.gelu, kernels.gelu_gradient, x)


def squared_relu(x: Tensor) -> Tensor:
    """max(0, x)^2."""
    from glasshouse.cpu_kernels import activation_kernels as kernels

    return kernels.ActivationFunction.apply(kernels.squared_relu, kernels.squared_relu_gradient, x)


def rms_norm(x: Tensor, gain: Tensor, epsilon: float) -> Tensor:
    """x / root mean square * gain, over the last axis."""
    from glasshouse.cpu_kernels.rms_norm_kernels import RMSNormFunction

    return RMSNormFunction.apply(x, gain, epsilon)


def rotate(x_BHTE: Tensor, cosine_TF: Tensor, sine_TF: Tensor) -> Tensor:
    """The features (i, i + E/2) of each head, rotated. The axes lie in memory as (B, T, H, E)."""
    from glasshouse.cpu_kernels.attention_kernels import RotationFunction

    return RotationFunction.apply(x_BHTE, cosine_TF, sine_TF)


def attention(queries: Tensor, keys: Tensor, values: Tensor, bounds: Tensor, longest: int, causal: bool) -> Tensor:
    """softmax(Q K^T / sqrt(E)) V within each text, for queries, keys and values (B, H, T, E).

    `bounds` are the first token of each text and the end of the last, counted through all rows.
    """
    from glasshouse.cpu_kernels.attention_kernels import AttentionFunction

    return AttentionFunction.apply(queries, keys, values, bounds, longest, causal)


def cross_entropy_sum(logits: Tensor, targets: Tensor, smoothing: float, ignored: int) -> Tensor:
    """Logits (N, V), targets (N) -> the sum of -log p(target) over all targets that are not `ignored`."""
    from glasshouse.cpu_kernels.cross_entropy_kernels import CrossEntropyFunction

    return CrossEntropyFunction.apply(logits, targets, smoothing, ignored)
