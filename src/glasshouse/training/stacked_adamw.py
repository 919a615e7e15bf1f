"""AdamW over stacked weights: one update of many replicas, each with a learning rate and a weight decay of its own.

The kernel is that of torch's fused AdamW, called for each replica's share: it reads and writes every number once, where the
same formula in plain operations passes over them thirty times. One replica's share keeps a fraction of a GPU busy, so calls
run side by side there. The names of its memory are torch's too, so that a replica can go on alone. Everything that changes
from step to step is a tensor on the device. Axes: R replicas, S steps.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.records.checkpoint import Tensors
from glasshouse.specs.spec import Spec
from glasshouse.training import schedules
from glasshouse.training.freezing import depths

EPSILON = 1e-8
# How many replicas' shares are moved at a time on a GPU.
LANES = 32


class StackedAdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019) for R replicas at once. Only matrices decay."""

    def __init__(self, model: nn.Module, weights: Tensors, specs: Sequence[Spec], steps: int) -> None:
        """`model` is one of the replicas, `weights` their stacked parameters, (R, ...) each, which are changed in place."""
        self.weights, training = weights, specs[0].training
        self.betas = training.beta1, training.beta2
        device = next(iter(weights.values())).device
        # Replicas of one learning rate have all rates in common.
        found = {spec.training.learning_rate: spec.training for spec in specs}
        rates = {top: [schedules.rate(each, step, steps) for step in range(steps)] for top, each in found.items()}
        self.table_SR = np.array([rates[spec.training.learning_rate] for spec in specs]).T
        self.rates_SR = torch.tensor(self.table_SR, dtype=torch.float32, device=device)
        self.decays = [spec.training.weight_decay for spec in specs]
        known = depths(model)
        top = max(known.values(), default=0)
        # What one call moves: parameters that decay, or do not, at one pace. A matrix of a single model has three axes here.
        self.groups: dict[tuple[bool, float], list[str]] = {}
        for name, tensor in weights.items():
            pace = training.layer_decay ** (top - known[name])
            self.groups.setdefault((tensor.dim() > 2, pace), []).append(name)
        self.first = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
        self.second = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
        self.taken = torch.zeros((), device=device)
        self.streams = [torch.cuda.Stream(device) for _ in range(min(LANES, len(specs)))] if device.type == "cuda" else []

    @contextmanager
    def _lanes(self) -> Iterator[list[AbstractContextManager]]:
        """Contexts whose work runs side by side, after all that was begun before and before all that follows."""
        if not self.streams:
            yield [nullcontext()]
            return
        now = torch.cuda.current_stream()
        for stream in self.streams:
            stream.wait_stream(now)
        yield [torch.cuda.stream(stream) for stream in self.streams]
        for stream in self.streams:
            now.wait_stream(stream)

    @torch.no_grad()
    def step(self, gradients: Tensors, step: Tensor, factor_R: Tensor, frozen_R: Tensor) -> None:
        """Move the weights by the gradients times a factor; those of replicas that are frozen stay to the last bit."""
        self.taken += 1
        # Not an index, for which the device would be waited for.
        rate_R = self.rates_SR.index_select(0, step.view(1))[0]
        scales, frozen = (1 / factor_R).unbind(), frozen_R.float().unbind()
        calls = []
        for (decays, pace), names in self.groups.items():
            moved = {name: gradients[name].contiguous() for name in names}
            stacks = self.weights, moved, self.first, self.second
            parts = [[tensors[name].unbind() for name in names] for tensors in stacks]
            calls.append((decays, (rate_R * pace).unbind(), parts))
        with self._lanes() as lanes:
            for replica, decay in enumerate(self.decays):
                with lanes[replica % len(lanes)]:
                    for decays, rates, parts in calls:
                        own, own_gradients, first, second = ([stacked[replica] for stacked in part] for part in parts)
                        torch._fused_adamw_(
                            own,
                            own_gradients,
                            first,
                            second,
                            max_exp_avg_sqs=[],
                            state_steps=[self.taken] * len(own),
                            lr=rates[replica],
                            beta1=self.betas[0],
                            beta2=self.betas[1],
                            weight_decay=decay if decays else 0.0,
                            eps=EPSILON,
                            amsgrad=False,
                            maximize=False,
                            grad_scale=scales[replica],
                            found_inf=frozen[replica],
                        )

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
