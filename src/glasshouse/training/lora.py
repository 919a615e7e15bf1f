"""Low-rank adapters: a frozen matrix W is used as W + (alpha / rank) B A, and only B and A are trained (Hu et al. 2021).

B begins at zero, so that training begins at the model as it was. Once trained, the sum is one matrix again: a run that is
opened, exported or trained further has no adapters in it. `parametrize` computes the sum wherever the weight is read, so
that a part that uses slices of its matrix needs to know nothing.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec


class Adapter(nn.Module):
    """W -> W + scale * up @ down."""

    def __init__(self, weight: Tensor, rank: int, alpha: float) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.down = nn.Parameter(torch.zeros(rank, columns))
        self.up = nn.Parameter(torch.zeros(rows, rank))
        self.scale = alpha / rank

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.scale * (self.up @ self.down)


def attach(model: nn.Module, training: TrainingSpec) -> None:
    """Give every matrix of a block that `training.lora_targets` names an adapter drawn from the seed; nothing where the rank
    is 0."""
    if not training.lora_rank:
        return
    inner = [(name, module) for name, module in model.named_modules() if "blocks." in name and isinstance(module, nn.Linear)]
    known = sorted({name.rpartition(".")[2] for name, _ in inner})
    if not inner:
        raise SpecError(
            "lora-without-blocks",
            f"training.lora_rank={training.lora_rank} adapts blocks, and this model has none; leave it out",
        )
    if missing := [target for target in training.lora_targets if target not in known]:
        raise SpecError(
            "unknown-lora-target",
            f"training.lora_targets names {missing[0]!r}, and no matrix of this model's blocks is called so; "
            f"choose among: {', '.join(known)}",
        )
    generator = torch.Generator().manual_seed(training.seed)
    for name, module in inner:
        if name.rpartition(".")[2] in training.lora_targets:
            adapter = Adapter(module.weight, training.lora_rank, training.lora_alpha)
            with torch.no_grad():
                adapter.down.normal_(0.0, 1 / math.sqrt(module.in_features), generator=generator)
            parametrize.register_parametrization(module, "weight", adapter)


def merge(model: nn.Module) -> None:
    """Make each adapted matrix an ordinary one again, with what was learned in it."""
    for module in list(model.modules()):
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
            cast(nn.Linear, module).weight.requires_grad_(True)


def is_adapter(name: str) -> bool:
    """Whether a parameter, by its name in the model, belongs to an adapter."""
    return ".parametrizations.weight.0." in name
