"""AdamW over stacked weights: one update of many replicas, each with its own learning rate and weight decay.

On CUDA one launch of `adamw_kernel` updates all. Elsewhere torch's fused kernel is called for each replica's slice. Both
read and write every number once; the same formula in plain operations needs about thirty passes. The names in the optimiser
state are torch's, so that a replica can later train alone. Everything that changes between steps is a tensor on the device,
as a CUDA graph requires. Axes: R replicas, S steps.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.records.checkpoint import Tensors
from glasshouse.specs.spec import Spec
from glasshouse.training import adamw_kernel, schedules
from glasshouse.training.adamw_kernel import EPSILON, AdamWKernel, Update
from glasshouse.training.freezing import depths
from glasshouse.training.optimisers import refuse_foreign


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
        self.kernel = AdamWKernel(self.betas, len(specs)) if adamw_kernel.usable([*weights.values()]) else None
        self.decays_R = torch.tensor(self.decays, device=device)
        self.no_decay_R = torch.zeros_like(self.decays_R)

    @torch.no_grad()
    def step(self, gradients: Tensors, step: Tensor, factor_R: Tensor, inactive_R: Tensor) -> None:
        """Update the weights that have gradients, with the gradients times `factor_R`.

        The weights of inactive replicas do not change at all.
        """
        torch._foreach_add_([self.steps_taken[name] for name in gradients], 1.0)
        # Indexing with a tensor would wait for the device; `index_select` does not.
        rate_R = self.rates_SR.index_select(0, step.view(1))[0]
        scale_R, skipped_R = 1 / factor_R, inactive_R.float()
        if self.kernel:
            self.kernel(self._updates(gradients, rate_R), scale_R, skipped_R)
        else:
            self._update_slices(gradients, rate_R, scale_R.unbind(), skipped_R.unbind())

    def _updates(self, gradients: Tensors, rate_R: Tensor) -> list[Update]:
        """The updates of all tensors that have gradients."""
        return [
            Update(
                self.weights[name],
                gradients[name].contiguous(),
                self.first_moments[name],
                self.second_moments[name],
                self.steps_taken[name],
                group_rate_R,
                self.decays_R if decays else self.no_decay_R,
            )
            for (decays, lr_factor), names in self.groups.items()
            for group_rate_R in [rate_R * lr_factor]
            for name in names
            if name in gradients
        ]

    def _update_slices(
        self, gradients: Tensors, rate_R: Tensor, scales: Sequence[Tensor], skipped: Sequence[Tensor]
    ) -> None:
        """Update replica after replica."""
        for (decays, lr_factor), group in self.groups.items():
            names = [name for name in group if name in gradients]
            contiguous = {name: gradients[name].contiguous() for name in names}
            stacks = self.weights, contiguous, self.first_moments, self.second_moments
            slices = [[tensors[name].unbind() for name in names] for tensors in stacks]
            rates = (rate_R * lr_factor).unbind()
            for replica, decay in enumerate(self.decays if names else []):
                weights, own_gradients, first_moments, second_moments = (
                    [stacked[replica] for stacked in stack] for stack in slices
                )
                torch._fused_adamw_(
                    weights,
                    own_gradients,
                    first_moments,
                    second_moments,
                    max_exp_avg_sqs=[],
                    state_steps=[self.steps_taken[name] for name in names],
                    lr=rates[replica],
                    beta1=self.betas[0],
                    beta2=self.betas[1],
                    weight_decay=decay if decays else 0.0,
                    eps=EPSILON,
                    amsgrad=False,
                    maximize=False,
                    grad_scale=scales[replica],
                    found_inf=skipped[replica],
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
            expected = {"exp_avg": self.first_moments[name][0], "exp_avg_sq": self.second_moments[name][0], "step": steps}
            refuse_foreign(name, tensors, expected)
            if f"{name}/step" in tensors:
                self.first_moments[name][replica] = tensors[f"{name}/exp_avg"].to(steps.device)
                self.second_moments[name][replica] = tensors[f"{name}/exp_avg_sq"].to(steps.device)
                steps.copy_(tensors[f"{name}/step"])
