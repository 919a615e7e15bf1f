"""What an optimiser of the catalogue is, AdamW, and the optimiser's state as named tensors: a checkpoint needs no pickle."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported, require
from glasshouse.specs import catalogue
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training import adamw_kernel, sharded_tensors
from glasshouse.training.freezing import depths
from glasshouse.training.listed_adamw import ListedAdamW, OneLaunchAdamW
from glasshouse.training.listed_update import ListedUpdate
from glasshouse.training.offloading import OffloadedState

DELETE = "delete that checkpoint, and the run is resumed from an earlier one"


class Optimiser(ABC):
    """Builds a torch optimiser for a model. A subclass may declare `Settings`, which become fields of `training`."""

    unsupported: ClassVar[Unsupported] = {}

    @staticmethod
    @abstractmethod
    def build(model: nn.Module, training: TrainingSpec) -> torch.optim.Optimizer:
        """The optimiser of the model's parameters. The schedule sets the learning rates of its groups in every step."""

    @staticmethod
    @abstractmethod
    def state_numbers(model: nn.Module, training: TrainingSpec) -> int:
        """How many numbers of state it keeps for the parameters that are trained, without counters."""


class AdamW(Optimiser):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), in one kernel. Only matrices decay."""

    @staticmethod
    def build(model: nn.Module, training: TrainingSpec) -> torch.optim.Optimizer:
        groups, betas = parameter_groups(model, training), (training.beta1, training.beta2)
        parameters = [sharded_tensors.local(parameter) for parameter in model.parameters()]
        if not parameters[0].is_cuda:
            return ListedAdamW(groups, betas)
        if adamw_kernel.usable(parameters):
            return OneLaunchAdamW(groups, betas)
        return torch.optim.AdamW(groups, betas=betas, fused=True, capturable=True)

    @staticmethod
    def state_numbers(model: nn.Module, training: TrainingSpec) -> int:
        return 2 * sum(parameter.numel() for parameter in trained(model))


def parameter_groups(model: nn.Module, training: TrainingSpec, tensor_rates: bool = True) -> list[dict[str, Any]]:
    """The parameters by weight decay and by the factor of their learning rate. Only matrices decay.

    With `tensor_rates` a learning rate is a tensor on the device, so that a CUDA graph reads its current value.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    factors = rate_factors(model, training)
    for name, parameter in model.named_parameters():
        decay = training.weight_decay if parameter.dim() >= 2 else 0.0
        groups.setdefault((decay, factors[name]), []).append(parameter)
    device = next(model.parameters()).device
    return [
        {
            "params": parameters,
            "weight_decay": decay,
            "lr_factor": factor,
            "lr": torch.zeros((), device=device) if tensor_rates else 0.0,
        }
        for (decay, factor), parameters in groups.items()
    ]


def rate_factors(model: nn.Module, training: TrainingSpec) -> dict[str, float]:
    """For every parameter, by name, the factor of the schedule's learning rate (`training.layer_decay`)."""
    parameter_depths = depths(model)
    top = max(parameter_depths.values(), default=0)
    return {name: training.layer_decay ** (top - depth) for name, depth in parameter_depths.items()}


def trained(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that are not frozen."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def check(training: TrainingSpec) -> None:
    """Raise SpecError if the optimiser cannot do what other fields of the spec ask of it."""
    optimiser = catalogue.find("optimiser", training.optimiser, "training.optimiser")
    asked = {
        "shards": (training.parallel == "shard", f"training.parallel={training.parallel!r}"),
        "gradual": (training.freeze == "gradual", f"training.freeze={training.freeze!r}"),
        "ema": (training.ema > 0, f"training.ema={training.ema:g}"),
        "decay": (training.schedule != "constant", f"training.schedule={training.schedule!r}"),
    }
    for capability, (is_asked, field) in asked.items():
        if is_asked:
            require(optimiser, capability, f"{field} with training.optimiser={training.optimiser!r}")
    if hasattr(optimiser, "check"):
        optimiser.check(training)


def memory(model: nn.Module, training: TrainingSpec) -> int:
    """The bytes of the optimiser's state. That of an optimiser which does not say it is counted as AdamW's."""
    optimiser = catalogue.find("optimiser", training.optimiser, "training.optimiser")
    return 4 * int(getattr(optimiser, "state_numbers", AdamW.state_numbers)(model, training))


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
    """Restore what `state` returned. Refuses a state that this optimiser does not have: RunError."""
    parameters = dict(model.named_parameters())
    if isinstance(optimiser, ListedUpdate):
        names: dict[Tensor, str] = {parameter: name for name, parameter in parameters.items()}
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                refuse_foreign(names[parameter], tensors, optimiser.initial_state(group, parameter))
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition("/")
        if parameter_name not in parameters:
            raise RunError(f"a state of an optimiser is of {parameter_name!r}, which is no parameter; {DELETE}")
        parameter = parameters[parameter_name]
        if offloaded:
            offloaded.take(parameter, key, tensor)
            continue
        moved = tensor.to(parameter.device)
        # Counters are whole in every process.
        optimiser.state[parameter][key] = sharded_tensors.like(moved, parameter) if moved.dim() else moved


def refuse_foreign(parameter: str, tensors: dict[str, Tensor], initial: dict[str, Tensor]) -> None:
    """Refuse saved tensors of a parameter that differ from those of its initial state in name, shape or type of number.

    A parameter that was frozen when they were saved has none.
    """
    saved = {key: tensors[f"{parameter}/{key}"] for key in initial if f"{parameter}/{key}" in tensors}
    if missing := set(initial) - set(saved) if saved else set():
        raise RunError(f"the optimiser's state of {parameter} lacks {sorted(missing)[0]!r}; {DELETE}")
    for key, tensor in saved.items():
        found, needed = ((tuple(one.shape), str(one.dtype)) for one in (tensor, initial[key]))
        if found != needed:
            raise RunError(
                f"the optimiser's state {key!r} of {parameter} has shape {found[0]} and {found[1]}, but needs {needed[0]} "
                f"and {needed[1]}; {DELETE}"
            )


def refuse_nesterov_without_momentum(momentum: float, nesterov: bool) -> None:
    """Nesterov's look-ahead is along the momentum."""
    if nesterov and not momentum:
        raise SpecError(
            "looks ahead along the momentum, but training.momentum=0; choose a training.momentum above 0, or "
            "training.nesterov=false",
            "training.nesterov",
            True,
        )
