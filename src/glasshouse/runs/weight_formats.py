"""The number formats in which a run's weights can be used. Its checkpoints keep float32."""

from typing import Final

import torch

from glasshouse.models import int8_weights
from glasshouse.models.base import Model
from glasshouse.specs.errors import RunError

FLOAT32, BFLOAT16, INT8 = FORMATS = ("float32", "bfloat16", "int8")
_DTYPES: Final = {FLOAT32: torch.float32, BFLOAT16: torch.bfloat16}


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
    if not int8_weights.can_have_int8_weights(model):
        limits = "decoders with the head next-token, where torch has kernels of 8 bits"
        raise RunError(f"is for {limits}, and not for {run}; choose float32", "dtype", "int8")
    return int8_weights.with_int8_weights(model)
