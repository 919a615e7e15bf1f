"""Optimisers with at most one number of state for a weight, where AdamW has two: SGD and Lion."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.records.checkpoint import Tensors
from glasshouse.specs.spec_fields import setting
from glasshouse.training.optimisers import LocalGroup, Optimiser


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
