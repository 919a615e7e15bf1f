"""Number formats for training. Weights and the optimiser's state are float32 in all of them.

- `fp32`: everything in float32.
- `tf32`: float32, but NVIDIA GPUs from Ampere on round the factors of matrix products to 10 bits, which makes the products
  several times faster. Elsewhere the same as `fp32`.
- `bf16`: matrix products in bfloat16, which has 7 bits.

Which library multiplies float32 matrices on a processor is decided here too.
"""

import platform
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.models.stack import TransformerStack
from glasshouse.parts import fp8_products
from glasshouse.parts.linear import Linear
from glasshouse.records import machine
from glasshouse.specs.errors import SpecError

# The most precise first.
BY_PRECISION = ("fp32", "tf32", "bf16")
# Under autocast the weights of a norm stay in float32 on purpose. On a CPU, torch reports that at length.
warnings.filterwarnings("ignore", "Mismatch dtype between input and weight")


@contextmanager
def context(precision: str, device: torch.device) -> Iterator[None]:
    bf16: AbstractContextManager[object] = nullcontext()
    if precision == "bf16":
        bf16 = torch.autocast(device.type, dtype=torch.bfloat16)
    with float32_products(precision, device), bf16:
        yield


def float32_products(precision: str, device: torch.device) -> AbstractContextManager[None]:
    """The context in which products of float32 matrices are computed as the format says, in backward passes too."""
    if device.type == "cuda":
        return _cuda_products(tf32=precision == "tf32")
    return _without_onednn() if device.type == "cpu" and onednn_is_slow() else nullcontext()


def onednn_is_slow() -> bool:
    """Whether torch's other library multiplies float32 matrices faster than oneDNN: on ARM processors without bfloat16.

    There (Neoverse N1, torch 2.13) torch gives X Y^T to oneDNN, which prepares every product anew, at about 0.6 ms. ARM
    processors with bfloat16 and those of Apple were not measured, so they keep torch's choice.
    """
    return platform.machine() == "aarch64" and "bf16" not in machine.instructions()


@contextmanager
def _without_onednn() -> Iterator[None]:
    onednn: Any = torch.backends.mkldnn
    before, onednn.enabled = onednn.enabled, False
    try:
        yield
    finally:
        onednn.enabled = before


@contextmanager
def _cuda_products(tf32: bool) -> Iterator[None]:
    matmul = torch.backends.cuda.matmul
    before, matmul.allow_tf32 = matmul.allow_tf32, tf32
    try:
        # cuDNN (convolutions, recurrent cells) would use TF32 by default.
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=tf32):
            yield
    finally:
        matmul.allow_tf32 = before


def round_residual_stream(model: nn.Module) -> None:
    """From now on, keep the model's residual streams in bfloat16 wherever products are."""
    for module in model.modules():
        if isinstance(module, TransformerStack):
            module.dropout.register_forward_hook(_rounded)


def _rounded(module: nn.Module, inputs: tuple[Tensor, ...], stream: Tensor) -> Tensor:
    return stream.bfloat16() if torch.is_autocast_enabled(stream.device.type) else stream


def use_fp8_products(model: nn.Module, number_format: str, device: torch.device) -> None:
    """From now on, compute the products of training in 8 bits wherever they would be in bfloat16 and the sizes allow it."""
    wrong = ""
    if number_format != "bf16":
        wrong = f"replaces products in bfloat16, and this run is in {number_format}; set training.precision=bf16"
    elif not fp8_products.available(device):
        wrong = f"needs an NVIDIA GPU of compute capability 8.9 or newer, but this is {device}; leave it out"
    if wrong:
        raise SpecError(wrong, "training.fp8_products", True)
    for module in model.modules():
        if isinstance(module, TransformerStack):
            for layer in module.modules():
                if isinstance(layer, Linear):
                    layer.fp8 = fp8_products.fits(layer.weight.shape)
        elif isinstance(module, NextTokenHead):
            module.fp8 = module.bias is None and fp8_products.fits((module.vocabulary, module.width))


def is_unsupported(error: RuntimeError) -> bool:
    """Whether torch lacks a bfloat16 kernel for the instruction set, for example with ATEN_CPU_CAPABILITY=avx2."""
    return "only supported when" in str(error)
