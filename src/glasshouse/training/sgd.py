"""Stochastic gradient descent with momentum (Polyak 1964; Nesterov 1983), by torch's fused kernel."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import TrainingSpec
from glasshouse.specs.spec_fields import setting
from glasshouse.training import sharded_tensors
from glasshouse.training.listed_update import ListedUpdate
from glasshouse.training.optimisers import Optimiser, parameter_groups, refuse_nesterov_without_momentum, trained


class SGD(Optimiser):
    """v <- momentum v + g, w <- w - rate v. With Nesterov's look-ahead the step is along g + momentum v.

    Weight decay is added to the gradient of matrices. It needs larger learning rates than AdamW, and one number of state for
    each weight.
    """

    unsupported: ClassVar[Unsupported] = {"replicas": "SGD has no version for stacked weights"}

    @dataclass(frozen=True)
    class Settings:
        momentum: float = setting(0.9, "decay of the sum of gradients that is the step", minimum=0, maximum=0.9999)
        nesterov: bool = setting(True, "step along the momentum of the next step (Nesterov)")

    @staticmethod
    def check(training: TrainingSpec) -> None:
        settings = settings_of(SGD, training.own)
        refuse_nesterov_without_momentum(settings.momentum, settings.nesterov)

    @staticmethod
    def build(model: nn.Module, training: TrainingSpec) -> torch.optim.Optimizer:
        return SGDUpdate(parameter_groups(model, training), settings_of(SGD, training.own))

    @staticmethod
    def state_numbers(model: nn.Module, training: TrainingSpec) -> int:
        settings = settings_of(SGD, training.own)
        return sum(parameter.numel() for parameter in trained(model)) if settings.momentum else 0


class SGDUpdate(ListedUpdate):
    """The update of SGD. Unlike torch's optimiser it takes weights that are sharded or that are unfrozen later."""

    def __init__(self, groups: list[dict[str, Any]], settings: SGD.Settings) -> None:
        super().__init__(groups)
        self.settings = settings

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> dict[str, Tensor]:
        return {"momentum_buffer": torch.zeros_like(parameter)} if self.settings.momentum else {}

    def update(self, group: dict[str, Any], parameters: list[nn.Parameter], gradients: list[Tensor], rate: Tensor) -> None:
        torch._fused_sgd_(
            [sharded_tensors.local(parameter) for parameter in parameters],
            gradients,
            self.local_state(parameters, "momentum_buffer") if self.settings.momentum else [],
            weight_decay=group["weight_decay"],
            momentum=self.settings.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=self.settings.nesterov,
            maximize=False,
            is_first_step=False,
            grad_scale=None,
            found_inf=self.found_inf,
        )
