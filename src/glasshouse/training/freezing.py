"""Freezing: which parameters are trained at which step. They can be frozen, or unfrozen gradually from the top down.

A parameter's depth is the number of its block, counted from 1. Embeddings have depth 0, and everything after the last block
has a depth above all blocks. Layer-wise learning-rate decay uses the depths too.
"""

import re

from torch import nn

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training import lora

# The names of the parameters below all blocks.
INPUTS = r"((encoder|decoder|text|image)\.)?(embedding|position|segments)"


def depths(model: nn.Module) -> dict[str, int]:
    """The depth of every parameter, by name. Decoder blocks are above the blocks of the encoder."""
    encoder_blocks = len(model.encoder.blocks) if hasattr(model, "encoder") else 0  # type: ignore[union-attr,arg-type]
    names = [name for name, _ in model.named_parameters()]
    numbers = {name: int(found[1]) for name in names if (found := re.search(r"(?:^|\.)(?:blocks|layers)\.(\d+)\.", name))}
    blocks = {name: n + 1 + (encoder_blocks if name.startswith("decoder.") else 0) for name, n in numbers.items()}
    top, is_input = max(blocks.values(), default=0), re.compile(INPUTS).match
    return {name: blocks.get(name, 0 if is_input(name) else top + 1) for name in names}


def is_head(name: str) -> bool:
    return name.startswith("head.")


class UnfreezingSchedule:
    """Freezes and unfreezes the parameters of a model for each step, as `training.freeze` specifies."""

    def __init__(self, model: nn.Module, training: TrainingSpec, steps: int) -> None:
        self.model, self.training, self.steps = model, training, steps
        self.depths = depths(model)
        self.top = max(self.depths.values(), default=0)
        self.lowest_trained: int | None = None
        self.apply(0)
        if not any(parameter.requires_grad for parameter in model.parameters()):
            reason = "leaves nothing to train, as this head has no weights; choose none or gradual, or training.lora_rank"
            raise SpecError(reason, "training.freeze", training.freeze)

    def apply(self, step: int) -> None:
        lowest = self.lowest_depth(step)
        if lowest == self.lowest_trained:
            return
        self.lowest_trained = lowest
        for name, parameter in self.model.named_parameters():
            if self.training.lora_rank:
                trained = lora.ADAPTER in name or is_head(name)
            elif self.training.freeze == "backbone":
                trained = is_head(name)
            else:
                trained = self.depths[name] >= lowest
            parameter.requires_grad_(trained)

    def lowest_depth(self, step: int) -> int:
        """The lowest depth that is trained at a step. Gradual unfreezing (Howard and Ruder, ULMFiT, 2018) begins with
        the head, and trains everything from the share `training.unfrozen_by` of the steps on."""
        if self.training.freeze != "gradual":
            return 0
        period = self.training.unfrozen_by * self.steps
        share = 1.0 if period <= 0 else min(step / period, 1.0)
        return self.top - int(share * self.top)


def trained_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
