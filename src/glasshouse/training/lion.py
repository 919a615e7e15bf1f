"""Lion: the sign of a moving average of the gradient (Chen et al., Symbolic Discovery of Optimization Algorithms, 2023)."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training import sharded_tensors
from glasshouse.training.listed_update import ListedUpdate
from glasshouse.training.optimisers import Optimiser, parameter_groups, trained


class Lion(Optimiser):
    """w <- w - rate (sign(beta1 m + (1 - beta1) g) + decay w), then m <- beta2 m + (1 - beta2) g. Only matrices decay.

    Every number moves by the whole rate. The paper's learning rates are 3 to 10 times smaller than AdamW's, with a weight
    decay as many times larger. It keeps one number of state for each weight.
    """

    unsupported: ClassVar[Unsupported] = {"replicas": "Lion has no version for stacked weights"}

    @staticmethod
    def build(model: nn.Module, training: TrainingSpec) -> torch.optim.Optimizer:
        return LionUpdate(parameter_groups(model, training), training.beta1, training.beta2)

    @staticmethod
    def state_numbers(model: nn.Module, training: TrainingSpec) -> int:
        return sum(parameter.numel() for parameter in trained(model))


class LionUpdate(ListedUpdate):
    """The update of Lion for lists of parameters."""

    def __init__(self, groups: list[dict[str, Any]], beta1: float, beta2: float) -> None:
        super().__init__(groups)
        self.beta1, self.beta2 = beta1, beta2

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> dict[str, Tensor]:
        return {"exp_avg": torch.zeros_like(parameter)}

    def update(self, group: dict[str, Any], parameters: list[nn.Parameter], gradients: list[Tensor], rate: Tensor) -> None:
        weights = [sharded_tensors.local(parameter) for parameter in parameters]
        averages = self.local_state(parameters, "exp_avg")
        steps = torch._foreach_lerp(averages, gradients, 1 - self.beta1)
        torch._foreach_sign_(steps)
        if group["weight_decay"]:
            torch._foreach_add_(steps, weights, alpha=group["weight_decay"])
        torch._foreach_mul_(steps, rate)
        torch._foreach_sub_(weights, steps)
        torch._foreach_lerp_(averages, gradients, 1 - self.beta2)
