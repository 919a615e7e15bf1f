"""Optimisers behind the catalogue, and their state as named tensors, so that a checkpoint needs no pickle."""

import torch
from torch import Tensor, nn

from glasshouse.specs.spec import TrainingSpec
from glasshouse.training.freezing import depths


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), in torch's fused form. Only matrices decay."""

    @staticmethod
    def build(model: nn.Module, training: TrainingSpec) -> torch.optim.Optimizer:
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        known = depths(model)
        top = max(known.values(), default=0)
        for name, parameter in model.named_parameters():
            # A group's learning rate is the schedule's times its pace.
            pace = training.layer_decay ** (top - known[name])
            groups.setdefault((training.weight_decay if parameter.dim() >= 2 else 0.0, pace), []).append(parameter)
        device = next(model.parameters()).device
        return torch.optim.AdamW(
            [
                # A tensor, so that a recorded step reads the rate of the day.
                {"params": params, "weight_decay": decay, "pace": pace, "lr": torch.zeros((), device=device)}
                for (decay, pace), params in groups.items()
            ],
            betas=(training.beta1, training.beta2),
            fused=True,
            capturable=device.type == "cuda",
        )


def state(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's memory as `PARAMETER/KEY` -> tensor."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": value
        for parameter, memory in optimiser.state.items()
        for key, value in memory.items()
        if isinstance(value, Tensor)
    }


def restore(optimiser: torch.optim.Optimizer, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put back what `state` gave."""
    parameters = dict(model.named_parameters())
    for name, tensor in tensors.items():
        parameter, _, key = name.rpartition("/")
        owner = parameters[parameter]
        optimiser.state[owner][key] = tensor.to(owner.device)
