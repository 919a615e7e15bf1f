"""Which parameters are trained at which step, and how fast: frozen, thawed from the top down, or slower towards the bottom.

A parameter's depth is that of its block; embeddings are at 0, and what comes after the last block is above all blocks.
"""

import re

from torch import nn

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training import lora


def depths(model: nn.Module) -> dict[str, int]:
    """The depth of every parameter by its name. A decoder's blocks stand above its encoder's."""
    below = len(model.encoder.blocks) if hasattr(model, "encoder") else 0  # type: ignore[union-attr,arg-type]
    found, top = {}, 0
    for name, _ in model.named_parameters():
        block = re.search(r"(^|\.)(?:blocks|layers)\.(\d+)\.", name)
        if block:
            found[name] = int(block.group(2)) + 1 + (below if name.startswith("decoder.") else 0)
            top = max(top, found[name])
    for name, _ in model.named_parameters():
        if name not in found:
            early = name.startswith(("embedding", "position", "segments")) or re.search(
                r"^(encoder|decoder|text|image)\.(embedding|position|segments)", name
            )
            found[name] = 0 if early else top + 1
    return found


def is_head(name: str) -> bool:
    """Whether a parameter belongs to the model's head rather than to what the head reads."""
    return name.startswith("head.")


class UnfreezingSchedule:
    """Sets which parameters of a model have gradients, as `training.freeze` says for a step."""

    def __init__(self, model: nn.Module, training: TrainingSpec, steps: int) -> None:
        self.model, self.training, self.steps = model, training, steps
        self.depths = depths(model)
        self.top = max(self.depths.values(), default=0)
        self.now: int | None = None
        self.apply(0)
        if not any(parameter.requires_grad for parameter in model.parameters()):
            raise SpecError(
                "nothing-to-train",
                f"training.freeze={training.freeze!r} leaves nothing to train: this model's head has no weights of its own; "
                "choose training.freeze=none or gradual, or give training.lora_rank",
            )

    def apply(self, step: int) -> None:
        """Freeze and thaw for this step."""
        lowest = self.lowest(step)
        if lowest == self.now:
            return
        self.now = lowest
        for name, parameter in self.model.named_parameters():
            if self.training.lora_rank:
                trained = lora.is_adapter(name) or is_head(name)
            elif self.training.freeze == "backbone":
                trained = is_head(name)
            else:
                trained = self.depths[name] >= lowest
            parameter.requires_grad_(trained)

    def lowest(self, step: int) -> int:
        """The least depth that is trained at a step: with gradual thawing the head first, then a block after another, and
        everything from `training.unfrozen_by` of the steps on (Howard and Ruder, ULMFiT, 2018)."""
        if self.training.freeze != "gradual":
            return 0
        period = self.training.unfrozen_by * self.steps
        done = 1.0 if period <= 0 else min(step / period, 1.0)
        return self.top - int(done * self.top)


def trained_parameters(model: nn.Module) -> int:
    """How many parameters have gradients now."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
