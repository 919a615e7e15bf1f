"""What the tests of single optimisers share: a small model, random gradients, and steps with them."""

import torch
from torch import nn

from glasshouse import models
from glasshouse.specs import spec_files
from glasshouse.specs.spec import ModelSpec, TrainingSpec
from glasshouse.training import optimisers
from glasshouse.training.optimisers import Optimiser

RATE = 0.01
# Two blocks, with biases and norms, and a head of its own.
MODEL = ModelSpec(width=8, layers=2, heads=2, feed_forward=12, tied=False, bias=True)


def training_spec(optimiser: str, **fields: object) -> TrainingSpec:
    """The training table of a spec with this optimiser, which is allowed with every optimiser unless fields change it."""
    table = {"optimiser": optimiser, "steps": 4, "schedule": "constant", **fields}
    data = {"files": ["text.txt"]}
    return spec_files.checked(spec_files.unchecked({"data": data, "training": table})).training


def small_model(seed: int = 0) -> nn.Module:
    return models.build(MODEL, 11, 6, seed)


def build(model: nn.Module, training: TrainingSpec) -> Optimiser:
    return optimisers.of_name(training).build(model, training)


def check(training: TrainingSpec) -> None:
    optimisers.of_name(training).check(training)


def set_rate(optimiser: Optimiser, rate: float = RATE) -> None:
    for group in optimiser.param_groups:
        group["lr"] = torch.tensor(rate * group["lr_factor"])


def set_gradients(model: nn.Module, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator) if parameter.requires_grad else None


def take_steps(model: nn.Module, optimiser: Optimiser, steps: range) -> None:
    """Steps with random gradients, which depend on the number of the step."""
    set_rate(optimiser)
    for step in steps:
        set_gradients(model, step)
        optimiser.step()


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
