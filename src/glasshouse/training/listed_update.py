"""The base class of optimisers whose update is written here, as operations on lists of tensors.

A CUDA graph can record such an update: nothing of it waits for the device. Weights that are sharded over processes are
updated in each process for its share.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.training import sharded_tensors


class ListedUpdate(torch.optim.Optimizer, ABC):
    """Takes steps group by group. As in torch's fused optimisers, `found_inf` above 0 leaves all weights unchanged."""

    # torch's name for optimisers that read `found_inf`.
    _step_supports_amp_scaling = True
    found_inf: Tensor | None = None
    # torch's decorator of these keeps them out of compiled functions, and imports `torch._dynamo`, which takes two seconds.
    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, {})

    @abstractmethod
    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> dict[str, Tensor]:
        """The state of a parameter before its first step."""

    @abstractmethod
    def update(self, group: dict[str, Any], parameters: list[nn.Parameter], gradients: list[Tensor], rate: Tensor) -> None:
        """Update the parameters of a group in place. The gradients are finite; the rate is 0 if nothing may change."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step."""
        for group, parameters in self.groups_with_gradients():
            gradients = [self._finite(gradient) for gradient in local_gradients(parameters)]
            rate = group["lr"] if self.found_inf is None else group["lr"] * (self.found_inf == 0)
            self.update(group, parameters, gradients, rate)

    def groups_with_gradients(self) -> Iterator[tuple[dict[str, Any], list[nn.Parameter]]]:
        """Each group with its parameters that have gradients, if there are any. They all have a state afterwards."""
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in parameters:
                if not self.state[parameter]:
                    self.state[parameter].update(self.initial_state(group, parameter))
            if parameters:
                yield group, parameters

    def _finite(self, gradient: Tensor) -> Tensor:
        """The gradient, or zeros if some number of this step is not finite: 0 times NaN is NaN."""
        return gradient if self.found_inf is None else torch.where(self.found_inf == 0, gradient, 0.0)

    def local_state(self, parameters: list[nn.Parameter], key: str) -> list[Tensor]:
        """The tensors of state with this name, of the present process."""
        return [sharded_tensors.local(self.state[parameter][key]) for parameter in parameters]


def local_gradients(parameters: list[nn.Parameter]) -> list[Tensor]:
    """The gradients of parameters that have some, of the present process."""
    return [sharded_tensors.local(parameter.grad) for parameter in parameters if parameter.grad is not None]
