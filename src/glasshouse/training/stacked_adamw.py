"""AdamW over stacked weights: one update of many replicas, each with its own learning rate and weight decay.

It calls torch's fused AdamW kernel for each replica's slice. The kernel reads and writes every number once; the same formula
in plain operations needs about thirty passes. One replica's slice does not fill a GPU, so calls run concurrently on several
streams. The names in the optimiser state are torch's, so that a replica can later train alone. Everything that changes
between steps is a tensor on the device, as a CUDA graph requires. Axes: R replicas, S steps.
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
# The number of CUDA streams; each updates one replica at a time.
STREAMS = 32


class StackedAdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019) for R replicas. Only matrices decay."""

    def __init__(self, model: nn.Module, weights: Tensors, specs: Sequence[Spec], steps: int) -> None:
        """`model` is one replica; `weights` are the stacked parameters (R, ...) of all, which are updated in place."""
        self.weights, training = weights, specs[0].training
        self.betas = training.beta1, training.beta2
        device = next(iter(weights.values())).device
        # Replicas with the same peak learning rate share one schedule.
        settings = {spec.training.learning_rate: spec.training for spec in specs}
        schedule = {
            peak: [schedules.rate(setting, step, steps) for step in range(steps)] for peak, setting in settings.items()
        }
        self.table_SR = np.array([schedule[spec.training.learning_rate] for spec in specs]).T
        self.rates_SR = torch.tensor(self.table_SR, dtype=torch.float32, device=device)
        self.decays = [spec.training.weight_decay for spec in specs]
        parameter_depths = depths(model)
        top = max(parameter_depths.values(), default=0)
        # (whether weight decay applies, factor of the learning rate) -> parameters. A stacked matrix has three axes.
        self.groups: dict[tuple[bool, float], list[str]] = {}
        for name, tensor in weights.items():
            lr_factor = training.layer_decay ** (top - parameter_depths[name])
            self.groups.setdefault((tensor.dim() > 2, lr_factor), []).append(name)
        self.first_moments = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
        self.second_moments = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
        # Parameters that are unfrozen later have taken fewer steps.
        self.steps_taken = {name: torch.zeros((), device=device) for name in weights}
        self.streams = [torch.cuda.Stream(device) for _ in range(min(STREAMS, len(specs)))] if device.type == "cuda" else []

    @contextmanager
    def _stream_contexts(self) -> Iterator[list[AbstractContextManager]]:
        """One context per stream. Work in them runs concurrently, after all earlier work and before all later work."""
        if not self.streams:
            yield [nullcontext()]
            return
        current = torch.cuda.current_stream()
        for stream in self.streams:
            stream.wait_stream(current)
        yield [torch.cuda.stream(stream) for stream in self.streams]
        for stream in self.streams:
            current.wait_stream(stream)

    @torch.no_grad()
    def step(self, gradients: Tensors, step: Tensor, factor_R: Tensor, inactive_R: Tensor) -> None:
        """Update the weights that have gradients, with the gradients times `factor_R`.

        The weights of inactive replicas do not change at all.
        """
        torch._foreach_add_([self.steps_taken[name] for name in gradients], 1.0)
        # Indexing with a tensor would wait for the device; `index_select` does not.
        rate_R = self.rates_SR.index_select(0, step.view(1))[0]
        scales, inactive = (1 / factor_R).unbind(), inactive_R.float().unbind()
        calls = []
        for (decays, lr_factor), group in self.groups.items():
            if not (names := [name for name in group if name in gradients]):
                continue
            contiguous = {name: gradients[name].contiguous() for name in names}
            stacks = self.weights, contiguous, self.first_moments, self.second_moments
            slices = [[tensors[name].unbind() for name in names] for tensors in stacks]
            calls.append((decays, (rate_R * lr_factor).unbind(), slices, [self.steps_taken[name] for name in names]))
        with self._stream_contexts() as contexts:
            for replica, decay in enumerate(self.decays):
                with contexts[replica % len(contexts)]:
                    for decays, rates, slices, steps_taken in calls:
                        weights, replica_gradients, first_moments, second_moments = (
                            [stacked[replica] for stacked in stack] for stack in slices
                        )
                        torch._fused_adamw_(
                            weights,
                            replica_gradients,
                            first_moments,
                            second_moments,
                            max_exp_avg_sqs=[],
                            state_steps=steps_taken,
                            lr=rates[replica],
                            beta1=self.betas[0],
                            beta2=self.betas[1],
                            weight_decay=decay if decays else 0.0,
                            eps=EPSILON,
                            amsgrad=False,
                            maximize=False,
                            grad_scale=scales[replica],
                            found_inf=inactive[replica],
                        )

    def rates(self, step: int) -> tuple[float, ...]:
        """Each replica's learning rate at a step."""
        return tuple(self.table_SR[step].tolist())

    def state(self, replica: int) -> Tensors:
        """One replica's optimiser state as `PARAMETER/KEY` -> tensor, in the format of `optimisers.state`."""
        tensors = {f"{name}/exp_avg": tensor[replica] for name, tensor in self.first_moments.items()}
        tensors |= {f"{name}/exp_avg_sq": tensor[replica] for name, tensor in self.second_moments.items()}
        return tensors | {f"{name}/step": steps.clone() for name, steps in self.steps_taken.items()}

    def restore(self, replica: int, tensors: Tensors) -> None:
        """Restore what `state` returned. All replicas are at the same step.

        A run that trained alone has no state of the parameters that were still frozen.
        """
        for name, steps in self.steps_taken.items():
            if f"{name}/step" in tensors:
                self.first_moments[name][replica] = tensors[f"{name}/exp_avg"].to(steps.device)
                self.second_moments[name][replica] = tensors[f"{name}/exp_avg_sq"].to(steps.device)
                steps.copy_(tensors[f"{name}/step"])
