"""LoRA adapters: a frozen matrix W is used as W + (alpha / rank) B A, and only B and A are trained (Hu et al. 2021).

B starts at zero, so that training starts at the unchanged model. After training the sum is merged into one matrix: a run
that is opened, exported or fine-tuned has no adapters. `parametrize` computes the sum wherever the weight is read, so parts
that use slices of their matrix need no change.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec

# What the names of the parameters of adapters contain.
ADAPTER = ".parametrizations.weight.0."


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
    """Add an adapter, initialised from the seed, to every matrix of a block that `training.lora_targets` names."""
    if not training.lora_rank:
        return
    modules = ((name, module) for name, module in model.named_modules() if "blocks." in name)
    layers = [(name, module) for name, module in modules if isinstance(module, nn.Linear)]
    known = sorted({name.rpartition(".")[2] for name, _ in layers})
    if missing := [target for target in training.lora_targets if target not in known]:
        remedy = f"choose among: {', '.join(known)}" if known else "it has none, so remove training.lora_rank"
        raise SpecError(f"training.lora_targets names {missing[0]!r}, but no matrix in the blocks has that name; {remedy}")
    generator = torch.Generator().manual_seed(training.seed)
    for name, module in layers:
        if name.rpartition(".")[2] in training.lora_targets:
            adapter = Adapter(module.weight, training.lora_rank, training.lora_alpha)
            with torch.no_grad():
                adapter.down.normal_(0.0, 1 / math.sqrt(module.in_features), generator=generator)
            parametrize.register_parametrization(module, "weight", adapter)


def merge(model: nn.Module) -> None:
    """Replace each adapted matrix by an ordinary matrix that includes its adapter."""
    for module in list(model.modules()):
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
            cast(nn.Linear, module).weight.requires_grad_(True)
