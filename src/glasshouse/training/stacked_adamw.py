"""AdamW over stacked weights: one update of many replicas, each with a learning rate and a weight decay of its own.

The formula is that of torch's AdamW, and so are the names of its memory, so that a replica can go on alone. Everything that
changes from step to step is a tensor on the device. Axes: R replicas, S steps.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.records.checkpoint import Tensors
from glasshouse.specs.spec import Spec
from glasshouse.training import schedules
from glasshouse.training.freezing import depths

EPSILON = 1e-8


class StackedAdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019) for R replicas at once. Only matrices decay."""

    def __init__(self, model: nn.Module, weights: Tensors, specs: Sequence[Spec], steps: int) -> None:
        """`model` is one of the replicas, `weights` their stacked parameters, (R, ...) each, which are changed in place."""
        self.weights, training = weights, specs[0].training
        self.betas = training.beta1, training.beta2
        device = next(iter(weights.values())).device
        self.table_SR = np.array([[schedules.rate(spec.training, step, steps) for spec in specs] for step in range(steps)])
        self.rates_SR = torch.tensor(self.table_SR, dtype=torch.float32, device=device)
        self.decay_R = torch.tensor([spec.training.weight_decay for spec in specs], dtype=torch.float32, device=device)
        known = depths(model)
        top = max(known.values(), default=0)
        self.pace = {name: training.layer_decay ** (top - known[name]) for name in weights}
        self.first = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
        self.second = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
        self.taken = torch.zeros((), device=device)

    @torch.no_grad()
    def step(self, gradients: Tensors, step: Tensor, alive_R: Tensor) -> None:
        """Move the weights of the replicas that are alive; those of the others stay to the last bit."""
        self.taken += 1
        # Not an index, for which the device would be waited for.
        rate_R = self.rates_SR.index_select(0, step.view(1))[0] * alive_R
        keep_R = 1 - rate_R * self.decay_R
        towards_first = 1 - self.betas[0] ** self.taken
        root_of_second = (1 - self.betas[1] ** self.taken).sqrt()
        for name, weight in self.weights.items():
            over = (-1, *([1] * (weight.dim() - 1)))
            gradient, first, second = gradients[name], self.first[name], self.second[name]
            first.lerp_(gradient, 1 - self.betas[0])
            second.mul_(self.betas[1]).addcmul_(gradient, gradient, value=1 - self.betas[1])
            scale = (second.sqrt() / root_of_second).add_(EPSILON)
            pace = self.pace[name]
            # One axis more than in a single model: a matrix has three.
            if weight.dim() > 2:
                weight.mul_((keep_R if pace == 1 else 1 - rate_R * pace * self.decay_R).view(over))
            weight.sub_(first / scale * (rate_R * pace / towards_first).view(over))

    def rates(self, step: int) -> tuple[float, ...]:
        """Each replica's learning rate at a step."""
        return tuple(self.table_SR[step].tolist())

    def state(self, replica: int) -> Tensors:
        """One replica's memory as `PARAMETER/KEY` -> tensor, as `optimisers.state` gives it."""
        found = {f"{name}/exp_avg": tensor[replica] for name, tensor in self.first.items()}
        found |= {f"{name}/exp_avg_sq": tensor[replica] for name, tensor in self.second.items()}
        return found | {f"{name}/step": self.taken.clone() for name in self.weights}

    def restore(self, replica: int, tensors: Tensors) -> None:
        """Put back what `state` gave. All replicas stand at the same step."""
        for name in self.weights:
            self.first[name][replica] = tensors[f"{name}/exp_avg"].to(self.taken.device)
            self.second[name][replica] = tensors[f"{name}/exp_avg_sq"].to(self.taken.device)
            self.taken.copy_(tensors[f"{name}/step"])
