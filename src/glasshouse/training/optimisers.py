"""Optimisers of the catalogue, and their state as named tensors, so that a checkpoint needs no pickle."""

import torch
from torch import Tensor, nn

from glasshouse.specs.spec import TrainingSpec
from glasshouse.training import sharded_tensors
from glasshouse.training.freezing import depths
from glasshouse.training.offloading import OffloadedState


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), in torch's fused form. Only matrices decay."""

    @staticmethod
    def build(model: nn.Module, training: TrainingSpec) -> torch.optim.Optimizer:
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        parameter_depths = depths(model)
        top = max(parameter_depths.values(), default=0)
        for name, parameter in model.named_parameters():
            # A group's learning rate is the schedule's times this factor.
            lr_factor = training.layer_decay ** (top - parameter_depths[name])
            decay = training.weight_decay if parameter.dim() >= 2 else 0.0
            groups.setdefault((decay, lr_factor), []).append(parameter)
        device = next(model.parameters()).device
        return torch.optim.AdamW(
            [
                # The learning rate is a tensor, so that a CUDA graph reads its current value.
                {"params": params, "weight_decay": decay, "lr_factor": lr_factor, "lr": torch.zeros((), device=device)}
                for (decay, lr_factor), params in groups.items()
            ],
            betas=(training.beta1, training.beta2),
            fused=True,
            capturable=device.type == "cuda",
        )


def state(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's state as `PARAMETER/KEY` -> tensor."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": value
        for parameter, values in optimiser.state.items()
        for key, value in values.items()
        if isinstance(value, Tensor)
    }


def restore(
    optimiser: torch.optim.Optimizer,
    model: nn.Module,
    tensors: dict[str, Tensor],
    offloaded: OffloadedState | None = None,
) -> None:
    """Restore what `state` returned."""
    parameters = dict(model.named_parameters())
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition("/")
        parameter = parameters[parameter_name]
        if offloaded:
            offloaded.take(parameter, key, tensor)
            continue
        moved = tensor.to(parameter.device)
        optimiser.state[parameter][key] = sharded_tensors.like(moved, parameter) if key != "step" else moved
