"""The engine: one optimiser step of one model. It knows the task, the optimiser and the device; the loop calls it.

All randomness in a step (the examples, dropout) is a function of (seed, step). So there is no random state to save, and a
resumed run continues as if it had never stopped.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.data import batch_stages, batches
from glasshouse.data.batches import BatchOrder
from glasshouse.data.shards import Shard
from glasshouse.models.base import Model
from glasshouse.records.checkpoint import Checkpoint, Tensors, name_of
from glasshouse.specs.spec import Spec
from glasshouse.tasks import linear_cross_entropy, text_windows
from glasshouse.tasks.base import Batch, Task
from glasshouse.training import cuda_graphs, devices, optimisers, precision, schedules, sharded_tensors
from glasshouse.training.compiling import compiled
from glasshouse.training.freezing import UnfreezingSchedule
from glasshouse.training.parallelism import LossSum, Parallelism


@dataclass(frozen=True)
class StepResult:
    """The result of one step, with one entry per model. The tensors stay on the device, so that nothing waits for it."""

    losses: Tensor
    gradient_norms: Tensor
    learning_rates: tuple[float, ...]

    def metrics(self) -> list[dict[str, float]]:
        """The numbers of each model. Waits for the device."""
        rows = zip(self.losses.tolist(), self.gradient_norms.tolist(), self.learning_rates, strict=True)
        return [{"loss": loss, "gradient_norm": norm, "learning_rate": rate} for loss, norm, rate in rows]


class Engine:
    """A model, its task and its optimiser."""

    def __init__(
        self,
        spec: Spec,
        steps: int,
        task: Task,
        model: Model,
        train: Shard,
        device: torch.device,
        parallelism: Parallelism | None = None,
    ) -> None:
        self.spec, self.steps, self.task, self.train_shard, self.device = spec, steps, task, train, device
        self.parallelism = parallelism or Parallelism()
        self.model = model.to(device).train()
        if spec.training.bf16_residual:
            precision.round_residual_stream(self.model)
        if spec.training.fp8_products:
            precision.use_fp8_products(self.model, spec.training.precision, device)
        self.unfreezing = UnfreezingSchedule(self.model, spec.training, steps)
        self.loss_sum = compiled_loss(task, self.model, spec.training.precision) if spec.training.compile else task.loss_sum
        # Sharding replaces the model's parameters, so the optimiser is built afterwards.
        self.synchronised_loss = self.parallelism.synchronised(self.loss_sum, self.model)
        self.optimiser = optimisers.of_name(spec.training).build(self.model, spec.training)
        # The exponential moving average of the weights, which is evaluated and used in place of the weights.
        self.average = copies(self.model.state_dict()) if spec.training.ema else None
        self.evaluates_average = True
        self.stages = batch_stages.stages_of(spec.training, steps)
        self.order = BatchOrder(spec.training.seed, self.stages, task.example_count(train), task.example_lengths(train))
        # The first step that was not finite, or -1. A check of every step would wait for an accelerator. So the fused
        # optimiser skips every update after such a step, and the loop reads this tensor only now and then.
        self.first_nonfinite = torch.full((), -1.0, device=device)
        if device.type == "cuda":
            self.optimiser.found_inf = torch.zeros((), device=device)
        self.graphed_step = cuda_graphs.GraphedStep(self._update, device, spec.training)
        self.graphed_forward = cuda_graphs.GraphedForward(self.model, device, spec.training)
        # Neither communication nor activation checkpointing, which saves the state of random numbers, can be recorded.
        self.graphed_step.enabled &= self.parallelism.size == 1 and not spec.training.checkpoint_activations

    @property
    def members(self) -> list["Engine"]:
        return [self]

    def batch(self, step: int) -> Batch:
        """The batch of a step, on the CPU."""
        batch = self.task.batch(self.train_shard, self.spec.training.seed, *self.order(step))
        return text_windows.split(batch, pieces) if (pieces := self.stages.at(step).pieces) > 1 else batch

    def step(self, step: int) -> StepResult:
        """Take one optimiser step, by `_update`: `graphed_step` calls it, or replays it as a CUDA graph.

        If the loss or its gradient is not finite, the weights never change again.
        """
        training = self.spec.training
        self.unfreezing.apply(step)
        learning_rate = schedules.rate(training, step, self.steps)
        batch = self.batch(step)
        numbers = torch.tensor([step, learning_rate, ema_update_rate(training.ema, step), self.task.prediction_count(batch)])
        batch = self.parallelism.own_rows(batch)
        if self.graphed_step.enabled:
            batch = cuda_graphs.pad_to_multiple(batch, self.task.largest_batch(1))
        self._seed(step)
        loss, norm = self.graphed_step(batch, numbers, self.unfreezing.lowest_trained)
        return StepResult(loss[None], norm[None], (learning_rate,))

    def _update(self, batch: Batch, numbers: Tensor) -> Tensor:
        """Forward and backward (`_gradients`), clip, `optimiser.step()`; all on the device. Gives (loss, gradient norm)."""
        step, learning_rate, ema_rate, count = numbers
        for group in self.optimiser.param_groups:
            torch.mul(learning_rate, group["lr_factor"], out=group["lr"])
        loss = self.parallelism.total(self._gradients(batch, count, self.synchronised_loss, self.parallelism))
        norm = self._clip()
        record_first_nonfinite(self.first_nonfinite, step, loss, norm)
        # On CUDA, the optimiser skips updates by `found_inf`, because a comparison here would wait for the device.
        if (skipped := self.optimiser.found_inf) is not None:
            torch.ge(self.first_nonfinite, 0, out=skipped)
        if skipped is not None or self.first_nonfinite < 0:
            self.optimiser.step()
            if self.average is not None:
                update_average(self.average, self.model.state_dict(), ema_rate)
        return torch.stack([loss, norm])

    def _clip(self) -> Tensor:
        """Clip the gradient; returns its norm. An optimiser that reads `grad_scale` divides by it in its own kernel."""
        limit, parameters = self.spec.training.clip or float("inf"), [*self.model.parameters()]
        if not self.optimiser.reads_grad_scale:
            return sharded_tensors.whole(nn.utils.clip_grad_norm_(parameters, limit))
        gradients = (parameter.grad for parameter in parameters if parameter.grad is not None)
        norm = sharded_tensors.whole(nn.utils.get_total_norm(gradients))
        self.optimiser.grad_scale = ((norm + 1e-6) / limit).clamp(min=1)
        return norm

    @contextmanager
    def evaluated_model(self) -> Iterator[Model]:
        """The model with the weights that evaluations use, within a block."""
        if self.average is None or not self.evaluates_average:
            yield self.model
            return
        weights = copies(self.model.state_dict())
        self.model.load_state_dict(self.average)
        try:
            yield self.model
        finally:
            self.model.load_state_dict(weights)

    def gradients(self, step: int, batch: Batch) -> Tensor:
        """The mean loss of a whole batch, computed by this process alone. Its gradients are left in the parameters."""
        self._seed(step)
        count = torch.tensor(float(self.task.prediction_count(batch)))
        return self._gradients(cuda_graphs.to_device(batch, self.device), count, self.loss_sum, Parallelism())

    def _seed(self, step: int) -> None:
        devices.seed(self.device, batches.step_seed(self.spec.training.seed, step, self.parallelism.rank))

    def _gradients(self, batch: Batch, count: Tensor, loss_sum: LossSum, parallelism: Parallelism) -> Tensor:
        training = self.spec.training
        self.optimiser.zero_grad(set_to_none=True)
        total = None
        with precision.float32_products(training.precision, self.device):
            chunks = {name: tensor.chunk(training.gradient_accumulation) for name, tensor in batch.items()}
            *earlier, last = [dict(zip(chunks, parts, strict=True)) for parts in zip(*chunks.values(), strict=True)]
            for micro_batch in (*earlier, last):
                with nullcontext() if micro_batch is last else parallelism.accumulating():
                    with precision.context(training.precision, self.device):
                        loss = loss_sum(self.model, micro_batch) / count
                    # torch takes the mean of the gradients of all ranks.
                    (loss if parallelism.size == 1 else loss * parallelism.size).backward()
                total = loss.detach() if total is None else total + loss.detach()
        assert total is not None
        return total

    def failures(self) -> list[int]:
        """For each model, the first step that was not finite, or -1. Waits for the device."""
        return [int(self.first_nonfinite.item())]

    def checkpoint_groups(self) -> dict[str, Tensors]:
        """All tensors of a checkpoint, by group. They depend neither on the number of processes nor on that of replicas."""
        groups = {"model": dict(self.model.state_dict()), "optimiser": optimisers.state(self.optimiser, self.model)}
        if self.average is not None:
            groups["average"] = self.average
        whole = sharded_tensors.whole
        return {group: {name: whole(tensor) for name, tensor in tensors.items()} for group, tensors in groups.items()}

    def restore(self, checkpoint: Checkpoint) -> None:
        where = f"the checkpoint {name_of(checkpoint.step)}"
        load_weights(self.model, checkpoint.groups["model"], where)
        optimisers.restore(self.optimiser, self.model, checkpoint.groups["optimiser"])
        if self.average is not None:
            optimisers.refuse_unfit(checkpoint.groups["average"], self.average, f"the average of {where}")
            for name, tensor in checkpoint.groups["average"].items():
                self.average[name].copy_(sharded_tensors.like(tensor, self.average[name]))

    def use_weights(self, weights: Tensors, where: str) -> None:
        """Use these weights in later evaluations. Training cannot continue afterwards."""
        load_weights(self.model, weights, where)
        self.evaluates_average = False


def copies(tensors: Tensors) -> Tensors:
    return {name: tensor.clone() for name, tensor in tensors.items()}


def compiled_loss(task: Task, model: Any, precision: str) -> LossSum:
    """The task's loss of this model, compiled. Fused kernels cannot be, so that only the features are. Without such kernels
    the loss is compiled together with the model, so that the logits are not stored in float32."""
    device = next(model.parameters()).device
    if not (task.fused_loss and linear_cross_entropy.supports(model, precision, device)):
        return compiled(task.loss_sum)
    with_features: Any = linear_cross_entropy.WithFeatures(model, compiled(model.features))
    return lambda model, batch: task.loss_sum(with_features, batch)


def ema_update_rate(decay: float, step: int) -> float:
    """The share by which a moving average moves towards the weights: larger at first, to forget the initial weights."""
    return 1 - min(decay, (1 + step) / (10 + step))


def record_first_nonfinite(first: Tensor, step: Tensor, loss: Tensor, norm: Tensor) -> None:
    """Store the step in `first` if its loss or gradient norm is the first that is not finite (-1: none yet)."""
    # One number, so that few kernels are launched: 0 times a number that is not finite is NaN.
    finite = (loss + norm) * 0 == 0
    torch.where(finite | (first >= 0), first, step, out=first)


@torch.no_grad()
def update_average(average: Tensors, weights: Tensors, rate: Tensor) -> None:
    for name, tensor in weights.items():
        if tensor.is_floating_point():
            average[name].lerp_(tensor, rate)
        else:
            average[name].copy_(tensor)


def load_weights(model: nn.Module, tensors: Tensors, where: str) -> None:
    """Load named weights into a model, and refuse weights that do not fit. Errors name their origin `where`."""
    expected = model.state_dict()
    optimisers.refuse_unfit(tensors, expected, where)
    model.load_state_dict({name: sharded_tensors.like(tensor, expected[name]) for name, tensor in tensors.items()})
