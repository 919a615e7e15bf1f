"""Schedule-free AdamW: an average of all iterates in place of a falling learning rate (Defazio et al. 2024).

Three sequences: z takes AdamW's steps without a first moment; x is the mean of all z, weighted by the square of the largest
learning rate so far; gradients are computed at y = beta1 x + (1 - beta1) z. The model holds y, the state holds z, and x
follows from both. x is what is evaluated, saved as the run's weights, and used later.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training.adamw import EPSILON
from glasshouse.training.optimisers import ListedUpdate, LocalGroup

# Of a parameter: its steps, the largest learning rate so far, and the sum of the weights of all z.
COUNTERS = "step", "largest_rate", "weight_sum"


class ScheduleFreeAdamW(ListedUpdate):
    """z <- z - rate (g / sqrt(v) + decay y), x <- the mean of all z, y <- beta1 x + (1 - beta1) z. Only matrices decay.

    Needs `training.schedule=constant`; warm-up stays useful. No choice depends on the number of steps. The paper's learning
    rates are 1 to 10 times AdamW's. All parameters have taken the same steps, so that they share their counters.
    """

    unsupported: ClassVar[Unsupported] = {
        "replicas": "schedule-free AdamW has no version for stacked weights",
        "gradual": "schedule-free AdamW averages all parameters over the same steps; choose training.freeze=none",
        "ema": "schedule-free AdamW evaluates an average of its own; set training.ema=0",
        "decay": "schedule-free AdamW averages its weights instead of lowering the learning rate; choose "
        "training.schedule=constant",
    }

    @staticmethod
    def check(training: TrainingSpec) -> None:
        if not training.beta1:
            raise SpecError(
                "computes gradients at the last iterate, from which training.optimiser='schedule-free-adamw' cannot tell "
                "the average; choose training.beta1=0.9",
                "training.beta1",
                0,
            )

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> dict[str, Tensor]:
        counters = {key: torch.zeros((), device=parameter.device) for key in COUNTERS}
        return {"z": parameter.detach().clone(), "exp_avg_sq": torch.zeros_like(parameter), **counters}

    def update(self, group: LocalGroup, rate: Tensor) -> None:
        weights, gradients, iterates, squares = group.weights, group.gradients, group.state["z"], group.state["exp_avg_sq"]
        share, correction = self._count([group.state[key] for key in COUNTERS], rate)
        torch._foreach_mul_(squares, self.beta2)
        torch._foreach_addcmul_(squares, gradients, gradients, value=1 - self.beta2)
        roots = torch._foreach_div(squares, correction)
        torch._foreach_sqrt_(roots)
        torch._foreach_add_(roots, EPSILON)
        steps = torch._foreach_div(gradients, roots)
        if decay := group.settings["weight_decay"]:
            torch._foreach_add_(steps, weights, alpha=decay)
        torch._foreach_mul_(steps, rate)
        # y moves towards the new mean of all z, and by its share of z's own step.
        towards = torch._foreach_sub(iterates, weights)
        torch._foreach_mul_(towards, share)
        torch._foreach_add_(weights, towards)
        torch._foreach_sub_(iterates, steps)
        torch._foreach_mul_(steps, self.beta1 * (1 - share) - 1)
        torch._foreach_add_(weights, steps)

    def _count(self, counters: Sequence[list[Tensor]], rate: Tensor) -> tuple[Tensor, Tensor]:
        """Count a step; returns (the weight of the new z in the mean, the correction of the mean of squares)."""
        steps, rates, sums = counters
        torch._foreach_add_(steps, 1.0)
        torch._foreach_maximum_(rates, [rate] * len(rates))
        weight = rates[0] ** 2 if self.found_inf is None else rates[0] ** 2 * (self.found_inf == 0)
        torch._foreach_add_(sums, [weight] * len(sums))
        # Before the first learning rate above 0 there is nothing to average.
        share = torch.where(sums[0] > 0, weight / sums[0].clamp(min=1e-38), 0.0)
        return share, 1 - self.beta2 ** steps[0]

    @torch.no_grad()
    def averaged(self, parameter: nn.Parameter) -> Tensor:
        if parameter not in self.state:
            return parameter.detach()
        return parameter.lerp(self.state[parameter]["z"], 1 - 1 / self.beta1)
