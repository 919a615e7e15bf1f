"""What an optimiser is: updates of lists of tensors; two small ones; and the state as named tensors without pickle."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from glasshouse.records.checkpoint import Tensors
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import TrainingSpec
from glasshouse.specs.spec_fields import setting
from glasshouse.training import sharded_tensors
from glasshouse.training.freezing import depths

DELETE = "delete that checkpoint, and the run is resumed from an earlier one"


class LocalGroup(NamedTuple):
    """A group of parameters that have gradients, with this process's share of their weights, gradients and state."""

    settings: dict[str, Any]
    parameters: list[nn.Parameter]
    weights: list[Tensor]
    gradients: list[Tensor]
    state: dict[str, list[Tensor]]


class Optimiser(torch.optim.Optimizer, ABC):
    """Takes steps group by group, as operations on lists of tensors. As in torch's fused optimisers, `found_inf` above 0
    leaves all weights unchanged. A subclass may declare `Settings`, which become fields of `training`.

    A CUDA graph can record such an update: nothing of it waits for the device. Weights that are sharded over processes are
    updated in each process for its share.
    """

    found_inf: Tensor | None = None
    # An optimiser that reads it divides all gradients by it in its own kernel.
    reads_grad_scale = False
    grad_scale: Tensor | None = None
    # torch's decorator of these keeps them out of compiled functions, and imports `torch._dynamo`, which takes two seconds.
    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)

    def __init__(self, groups: list[dict[str, Any]], training: TrainingSpec) -> None:
        super().__init__(groups, {})
        self.beta1, self.beta2 = training.beta1, training.beta2
        self.settings = settings_of(type(self), training.own)

    @staticmethod
    def check(training: TrainingSpec) -> None:
        """Raise SpecError if fields of the spec do not fit together."""

    @classmethod
    def build(cls, model: nn.Module, training: TrainingSpec) -> "Optimiser":
        """The optimiser of the model's parameters. The schedule sets the learning rates of its groups in every step."""
        return cls(parameter_groups(model, training), training)

    @abstractmethod
    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> Tensors:
        """The state of a parameter before its first step."""

    @abstractmethod
    def update(self, group: LocalGroup, rate: Tensor) -> None:
        """Update weights and state in place. The gradients are finite; the rate is 0 if nothing may change."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.groups_with_gradients():
            rate = group.settings["lr"]
            if self.found_inf is not None:
                # 0 times NaN is NaN, so the gradients become zeros too.
                finite = [torch.where(self.found_inf == 0, gradient, 0.0) for gradient in group.gradients]
                group, rate = group._replace(gradients=finite), rate * (self.found_inf == 0)
            self.update(group, rate)

    def groups_with_gradients(self) -> Iterator[LocalGroup]:
        for settings in self.param_groups:
            parameters = [parameter for parameter in settings["params"] if parameter.grad is not None]
            states = [self.state[parameter] for parameter in parameters]
            for parameter, state in zip(parameters, states, strict=True):
                if not state:
                    state.update(self.initial_state(settings, parameter))
            if parameters:
                local = sharded_tensors.local
                weights, gradients = map(local, parameters), (local(one.grad) for one in parameters if one.grad is not None)
                kept = {key: [local(state[key]) for state in states] for key in states[0]}
                yield LocalGroup(settings, parameters, [*weights], [*gradients], kept)


class SGD(Optimiser):
    """v <- momentum v + g, w <- w - rate v. With Nesterov's look-ahead the step is along g + momentum v.

    Gradient descent with momentum (Polyak 1964; Nesterov 1983). Weight decay is added to the gradient of matrices. It needs
    larger learning rates than AdamW, and one number of state for each weight. The update is torch's fused kernel. Unlike
    torch's optimiser it takes weights that are sharded or that are unfrozen later.
    """

    @dataclass(frozen=True)
    class Settings:
        momentum: float = setting(0.9, "decay of the sum of gradients that is the step", minimum=0, maximum=0.9999)
        nesterov: bool = setting(True, "step along the momentum of the next step (Nesterov)")

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> Tensors:
        return {"momentum_buffer": torch.zeros_like(parameter)} if self.settings.momentum else {}

    def update(self, group: LocalGroup, rate: Tensor) -> None:
        torch._fused_sgd_(
            group.weights,
            group.gradients,
            group.state.get("momentum_buffer", []),
            weight_decay=group.settings["weight_decay"],
            momentum=self.settings.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=self.settings.nesterov and self.settings.momentum > 0,
            maximize=False,
            is_first_step=False,
            grad_scale=None,
            found_inf=self.found_inf,
        )


class Lion(Optimiser):
    """w <- w - rate (sign(beta1 m + (1 - beta1) g) + decay w), then m <- beta2 m + (1 - beta2) g. Only matrices decay.

    Every number moves by the whole rate. The paper's learning rates (Chen et al., Symbolic Discovery of Optimization
    Algorithms, 2023) are 3 to 10 times smaller than AdamW's, with a weight decay as many times larger. It keeps one number
    of state for each weight.
    """

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> Tensors:
        return {"exp_avg": torch.zeros_like(parameter)}

    def update(self, group: LocalGroup, rate: Tensor) -> None:
        averages = group.state["exp_avg"]
        steps = torch._foreach_lerp(averages, group.gradients, 1 - self.beta1)
        torch._foreach_sign_(steps)
        if decay := group.settings["weight_decay"]:
            torch._foreach_add_(steps, group.weights, alpha=decay)
        torch._foreach_mul_(steps, rate)
        torch._foreach_sub_(group.weights, steps)
        torch._foreach_lerp_(averages, group.gradients, 1 - self.beta2)


def of_name(training: TrainingSpec) -> type[Optimiser]:
    found: type[Optimiser] = catalogue.find("optimiser", training.optimiser, "training.optimiser")
    return found


def parameter_groups(
    model: nn.Module, training: TrainingSpec, orthogonal: Collection[nn.Parameter] = ()
) -> list[dict[str, Any]]:
    """The parameters by weight decay, which only matrices have, and by the factor of their learning rate.

    A rate is a tensor on the device, so that a CUDA graph reads its current value. Parameters that are `orthogonal` have
    groups of their own.
    """
    groups: dict[tuple[bool, float, float], list[nn.Parameter]] = {}
    factors = rate_factors(model, training)
    for name, parameter in model.named_parameters():
        apart = parameter in orthogonal
        decay = training.weight_decay if parameter.dim() >= 2 else 0.0
        groups.setdefault((apart, decay, factors[name]), []).append(parameter)
    device = next(model.parameters()).device
    return [
        {
            "params": parameters,
            "orthogonal": apart,
            "weight_decay": decay,
            "lr_factor": factor,
            "lr": torch.zeros((), device=device),
        }
        for (apart, decay, factor), parameters in groups.items()
    ]


def rate_factors(model: nn.Module, training: TrainingSpec) -> dict[str, float]:
    """For every parameter, by name, the factor of the schedule's learning rate (`training.layer_decay`)."""
    parameter_depths = depths(model)
    top = max(parameter_depths.values(), default=0)
    return {name: training.layer_decay ** (top - depth) for name, depth in parameter_depths.items()}


def memory(model: nn.Module, training: TrainingSpec) -> int:
    """The bytes of the optimiser's state, without counters."""
    built = of_name(training).build(model, training)
    trained = [(group, one) for group in built.param_groups for one in group["params"] if one.requires_grad]
    states = (state for group, one in trained for state in built.initial_state(group, one).values())
    return 4 * sum(state.numel() for state in states if state.dim())


def state(optimiser: Optimiser, model: nn.Module) -> Tensors:
    """The optimiser's state as `PARAMETER/KEY` -> tensor."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {f"{names[own]}/{key}": value for own, values in optimiser.state.items() for key, value in values.items()}


def restore(optimiser: Optimiser, model: nn.Module, tensors: Tensors) -> None:
    """Restore what `state` returned. Refuses a state that this optimiser does not have: RunError."""
    parameters = dict(model.named_parameters())
    names: dict[Tensor, str] = {parameter: name for name, parameter in parameters.items()}
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            state_of(names[parameter], tensors, optimiser.initial_state(group, parameter))
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition("/")
        if parameter_name not in parameters:
            raise RunError(f"a state of an optimiser is of {parameter_name!r}, which is no parameter; {DELETE}")
        parameter = parameters[parameter_name]
        moved = tensor.to(parameter.device)
        # Counters are whole in every process.
        optimiser.state[parameter][key] = sharded_tensors.like(moved, parameter) if moved.dim() else moved


def state_of(parameter: str, tensors: Tensors, initial: Tensors) -> Tensors:
    """The saved state of a parameter; none if it was frozen then. Refuses what differs from the initial state."""
    saved = {key: tensors[f"{parameter}/{key}"] for key in initial if f"{parameter}/{key}" in tensors}
    if saved:
        refuse_unfit(saved, initial, f"the optimiser's state of {parameter}", exact=True)
    return saved


def refuse_unfit(tensors: Tensors, expected: Tensors, where: str, exact: bool = False) -> None:
    """Refuse tensors that differ from the expected ones in name, shape or kind of number; if `exact`, also in precision."""
    wrong = ""
    for name in sorted({*tensors, *expected}):
        if name not in expected:
            wrong = f"has a tensor {name!r} that the model of its spec does not have"
        elif name not in tensors:
            wrong = f"lacks the tensor {name!r}"
        elif tensors[name].shape != expected[name].shape:
            shapes = tuple(tensors[name].shape), tuple(expected[name].shape)
            wrong = f"has {name!r} in shape {shapes[0]}, but needs {shapes[1]}"
        elif not _fits(tensors[name].dtype, expected[name].dtype, exact):
            wrong = f"has {name!r} in numbers of type {tensors[name].dtype}, but needs {expected[name].dtype}"
        if wrong:
            raise RunError(f"{where} {wrong}", remedies=[DELETE] if exact else ())


def _fits(found: torch.dtype, needed: torch.dtype, exact: bool) -> bool:
    return found == needed or (not exact and (found.is_floating_point or not needed.is_floating_point))
