"""AdamW by torch's fused kernel, without torch's class around it: on CPUs, and for what Muon does not update.

torch's class takes as long to list small tensors as its kernel takes to update them, and it imports `torch._dynamo`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.training import sharded_tensors
from glasshouse.training.listed_update import ListedUpdate
from glasshouse.training.stacked_adamw import EPSILON


class ListedAdamW(ListedUpdate):
    """The update of `torch.optim.AdamW(fused=True)`, with the same state."""

    def __init__(self, groups: list[dict[str, Any]], betas: tuple[float, float]) -> None:
        super().__init__(groups)
        self.betas = betas

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> dict[str, Tensor]:
        return initial_state(parameter)

    def update(self, group: dict[str, Any], parameters: list[nn.Parameter], gradients: list[Tensor], rate: Tensor) -> None:
        update(self, group, parameters, gradients, rate, self.betas)


def initial_state(parameter: nn.Parameter) -> dict[str, Tensor]:
    """AdamW's state of a parameter, under torch's names."""
    step = torch.zeros((), device=parameter.device)
    return {"exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter), "step": step}


def update(
    optimiser: ListedUpdate,
    group: dict[str, Any],
    parameters: list[nn.Parameter],
    gradients: list[Tensor],
    rate: Tensor,
    betas: tuple[float, float],
) -> None:
    """AdamW's update of parameters of a group."""
    steps = [optimiser.state[parameter]["step"] for parameter in parameters]
    torch._foreach_add_(steps, 1.0)
    torch._fused_adamw_(
        [sharded_tensors.local(parameter) for parameter in parameters],
        gradients,
        optimiser.local_state(parameters, "exp_avg"),
        optimiser.local_state(parameters, "exp_avg_sq"),
        max_exp_avg_sqs=[],
        state_steps=steps,
        lr=rate,
        beta1=betas[0],
        beta2=betas[1],
        weight_decay=group["weight_decay"],
        eps=EPSILON,
        amsgrad=False,
        maximize=False,
        grad_scale=None,
        found_inf=optimiser.found_inf,
    )
