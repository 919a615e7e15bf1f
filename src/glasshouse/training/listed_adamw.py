"""AdamW without torch's class: by torch's fused kernel on CPUs and for what Muon does not update, by our kernel on CUDA.

torch's class takes as long to list small tensors as its kernel takes to update them, and it imports `torch._dynamo`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.training import sharded_tensors
from glasshouse.training.adamw_kernel import EPSILON, AdamWKernel, Update
from glasshouse.training.listed_update import ListedUpdate, local_gradients

# torch's names of the moving averages of the gradient and of its square.
MOMENTS = "exp_avg", "exp_avg_sq"


class ListedAdamW(ListedUpdate):
    """The update of `torch.optim.AdamW(fused=True)`, with the same state."""

    def __init__(self, groups: list[dict[str, Any]], betas: tuple[float, float]) -> None:
        super().__init__(groups)
        self.betas = betas

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> dict[str, Tensor]:
        return initial_state(parameter)

    def update(self, group: dict[str, Any], parameters: list[nn.Parameter], gradients: list[Tensor], rate: Tensor) -> None:
        update(self, group, parameters, gradients, rate, self.betas)


class OneLaunchAdamW(ListedAdamW):
    """The same in one launch of `adamw_kernel`, for contiguous parameters in float32 on CUDA.

    As torch's fused optimisers do, it divides gradients by `grad_scale`, if that is set.
    """

    reads_grad_scale = True
    grad_scale: Tensor | None = None

    def __init__(self, groups: list[dict[str, Any]], betas: tuple[float, float]) -> None:
        super().__init__(groups, betas)
        device = groups[0]["lr"].device
        self.kernel = AdamWKernel(betas)
        self.one, self.zero = torch.ones(1, device=device), torch.zeros(1, device=device)
        self.decays = {decay: torch.full((1,), decay, device=device) for decay in (one["weight_decay"] for one in groups)}

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step."""
        updates = []
        for group, parameters in self.groups_with_gradients():
            gradients, moments = local_gradients(parameters), (self.local_state(parameters, key) for key in MOMENTS)
            decays = self.decays[group["weight_decay"]]
            for parameter, gradient, first, second in zip(parameters, gradients, *moments, strict=True):
                weights, steps = sharded_tensors.local(parameter), self.state[parameter]["step"]
                updates.append(Update(weights, gradient.contiguous(), first, second, steps, group["lr"], decays))
        if not updates:
            return
        scale = self.one if self.grad_scale is None else self.grad_scale
        skipped = self.zero if self.found_inf is None else self.found_inf
        torch._foreach_add_([update.steps for update in updates], 1.0)
        self.kernel(updates, scale, skipped)


def initial_state(parameter: nn.Parameter) -> dict[str, Tensor]:
    """AdamW's state of a parameter, under torch's names."""
    step = torch.zeros((), device=parameter.device)
    return {**{key: torch.zeros_like(parameter) for key in MOMENTS}, "step": step}


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
