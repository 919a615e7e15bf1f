"""The number formats in which the weights of a model can be used: float32, bfloat16, and 8 bits. Checkpoints keep float32.

Weights of 8 bits make the generation of a decoder faster on a CPU; it cannot be trained. Each output of a matrix has a scale
of its own, and so has each row of its input, which is rounded in each call: to 7 bits on x86, to 8 on ARM.
Embeddings, norms, positions and attention stay as they are.

Axes: N rows, I inputs, O outputs, D width, V vocabulary.
"""

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor, nn

from glasshouse.models.base import Model
from glasshouse.models.decoder import Decoder
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import RunError

FLOAT32, BFLOAT16, INT8 = FORMATS = ("float32", "bfloat16", "int8")
_DTYPES: Final = {FLOAT32: torch.float32, BFLOAT16: torch.bfloat16}
QNNPACK = "qnnpack"
LARGEST = 127
# A number between -1 and 1 that is rounded to 7 bits is as exact as this.
TOLERANCE = 0.02
# Outputs whose weights are all smaller get the scale of this number: a scale of 0 is none.
SMALLEST = 1e-6


def check(name: str, device: torch.device) -> None:
    """Refuse a format that does not exist, or not on this device."""
    if name not in FORMATS:
        raise RunError(f"is not known; choose one of {', '.join(FORMATS)}", "dtype", name)
    if name == INT8 and device.type != "cpu":
        raise RunError(f"is for a CPU, not for {device}; choose bfloat16 there", "dtype", "int8")


def convert(model: Model, name: str, run: str) -> Model:
    """The model with its weights in this format. `run` is its name, for messages."""
    if name != INT8:
        return model.to(_DTYPES[name])
    if not can_have_int8_weights(model):
        limits = "decoders with the head next-token, where torch has kernels of 8 bits"
        raise RunError(f"is for {limits}, and not for {run}; choose float32", "dtype", "int8")
    return with_int8_weights(model)


@contextmanager
def _using(engine: str) -> Iterator[None]:
    """Choose the kernels for quantised layers that are packed within the block."""
    before = torch.backends.quantized.engine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces that another package will have these kernels one day
        torch.backends.quantized.engine = engine
        try:
            yield
        finally:
            torch.backends.quantized.engine = before


@functools.cache
def working_engine() -> str | None:
    """Torch's kernels that work on this processor. On ARM, torch 2.13 lists those of x86, which fail there, first."""
    for engine in (torch.backends.quantized.engine, QNNPACK):
        if engine in torch.backends.quantized.supported_engines and engine != "none":
            try:
                with _using(engine):
                    zeros = torch.zeros(8, dtype=torch.long)
                    small = torch.quantize_per_channel(torch.eye(8), torch.ones(8), zeros, 0, torch.qint8)
                    packed = torch.ops.quantized.linear_prepack(small, None)
                    rows = torch.linspace(-1, 1, 24).view(3, 8)
                    if (torch.ops.quantized.linear_dynamic(rows, packed) - rows).abs().max() < TOLERANCE:
                        return str(engine)
            except RuntimeError:
                continue
    return None


class Int8Linear(nn.Module):
    """x W^T + b."""

    extremes: Tensor

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight_OI.shape
        self.bias = bias_O
        # The kernel takes one scale from the smallest and the largest input of all rows. With this row they are always -1
        # and 1, so that a row does not depend on the others.
        extremes = torch.zeros(1, self.in_features)
        extremes[0, 0], extremes[0, -1] = -1.0, 1.0
        self.register_buffer("extremes", extremes, persistent=False)
        scales_O = weight_OI.abs().amax(1).clamp(min=SMALLEST).double() / LARGEST
        zeros_O = torch.zeros(len(weight_OI), dtype=torch.long)
        engine = working_engine()
        assert engine is not None
        self._reduce_range = engine != QNNPACK  # which needs no room for sums and warns about it
        with _using(engine):
            rounded = torch.quantize_per_channel(weight_OI.float(), scales_O, zeros_O, 0, torch.qint8)
            self._packed: Any = torch.ops.quantized.linear_prepack(rounded, None)

    def forward(self, x: Tensor) -> Tensor:
        x_NI = x.reshape(-1, self.in_features)
        largest_N1 = x_NI.abs().amax(-1, keepdim=True).clamp(min=1e-12)
        scaled = torch.cat([x_NI / largest_N1, self.extremes])
        product_NO = torch.ops.quantized.linear_dynamic(scaled, self._packed, self._reduce_range)[:-1] * largest_N1
        return (product_NO if self.bias is None else product_NO + self.bias).unflatten(0, x.shape[:-1])


class Int8Head(NextTokenHead):
    """A next-token head with a copy of its matrix in 8 bits. A tied matrix is also the embedding, so it stays too."""

    def __init__(self, head: NextTokenHead, embedding_VD: Tensor) -> None:
        super().__init__(Sizes(head.width, vocabulary=head.vocabulary), NextTokenHead.Settings(softcap=head.softcap))
        self.weight, self.bias = head.weight, head.bias
        self.product = Int8Linear(head.matrix(embedding_VD).detach(), None if head.bias is None else head.bias.detach())

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return self.capped(self.product(features_BTD))


def can_have_int8_weights(model: nn.Module) -> bool:
    """Whether `with_int8_weights` knows this model, and torch has its kernels on this machine."""
    return isinstance(model, Decoder) and type(model.head) is NextTokenHead and working_engine() is not None


def with_int8_weights(model: nn.Module) -> Decoder:
    assert isinstance(model, Decoder)
    for parent in list(model.blocks.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                bias = None if child.bias is None else child.bias.detach()
                setattr(parent, name, Int8Linear(child.weight.detach(), bias))
    assert isinstance(model.head, NextTokenHead)
    model.head = Int8Head(model.head, model.embedding.weight)
    return model
