"""Replicas: several runs of one shape that take their steps as one program. Knows what an engine knows, and no run folder.

The weights of all replicas are stacked along a new first axis, and `vmap` carries the step over it, so that model and task
never know. Seed, learning rate, weight decay and initialisation may differ between replicas; shapes may not. Attention takes
its plain path here: the fused kernels have no rule for `vmap`.

Axes: R replicas.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from glasshouse.data import batches
from glasshouse.data.batches import Order
from glasshouse.data.shards import Shard
from glasshouse.parts.attention.base import Attention
from glasshouse.records.checkpoint import Checkpoint, Tensors
from glasshouse.specs.spec import Spec
from glasshouse.tasks import linear_cross_entropy
from glasshouse.tasks.base import Batch, Task
from glasshouse.training import cuda_graphs, precision
from glasshouse.training.engine import StepResult, latch, load_weights, mean_pace, remember
from glasshouse.training.freezing import UnfreezingSchedule
from glasshouse.training.job import Job
from glasshouse.training.stacked_adamw import StackedAdamW

# What may differ between replicas: numbers that enter a step, and the weights it begins with.
FREE = {"training": ("seed", "learning_rate", "weight_decay"), "model": ("initialisation",)}


def alike(first: Spec, second: Spec) -> bool:
    """Whether two specs can be replicas of one program."""
    return _shape(first) == _shape(second)


def _shape(spec: Spec) -> Spec:
    """A spec without what may differ."""
    usual = Spec()
    for section, names in FREE.items():
        same = {name: getattr(getattr(usual, section), name) for name in names}
        spec = replace(spec, **{section: replace(getattr(spec, section), **same)})
    return spec


def obstacle(spec: Spec) -> str | None:
    """Why runs of this spec cannot be replicas, or None where they can."""
    training = spec.training
    if training.freeze == "gradual":
        return "training.freeze='gradual' changes what is trained from step to step"
    if training.gradient_accumulation > 1:
        return f"training.gradient_accumulation={training.gradient_accumulation} cuts batches into parts"
    if training.compile:
        return "training.compile compiles one model"
    if training.optimiser != "adamw":
        return f"training.optimiser={training.optimiser!r} has no form for replicas"
    return None


def make_plain(model: nn.Module) -> None:
    """Have every attention take its plain path."""
    for module in model.modules():
        if isinstance(module, Attention):
            module.plain = True


class _Asked(nn.Module):
    """A model and what is asked of it as one function of weights and a batch."""

    def __init__(self, model: nn.Module, task: Task) -> None:
        super().__init__()
        self.model, self.task = model, task

    def forward(self, batch: Batch) -> Tensor:
        return self.task.loss_sum(self.model, batch)


class Replicas:
    """Some models of one shape, what is asked of them, and the means to improve them together."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        job = jobs[0]
        self.specs = [each.spec for each in jobs]
        self.spec, self.steps, self.task, self.device = job.spec, job.steps, job.task, job.device
        self.train: Shard = job.prepared.splits["train"]
        self.seeds = np.array([spec.training.seed for spec in self.specs])
        examples, lengths = self.task.example_count(self.train), self.task.example_lengths(self.train)
        self.order = Order(self.seeds, self.spec.training.batch, examples, lengths)
        models = [each.model().train() for each in jobs]
        UnfreezingSchedule(models[0], self.spec.training, self.steps)
        self.weights = _stacked([dict(model.named_parameters()) for model in models], self.device)
        self.buffers = _stacked([dict(model.named_buffers()) for model in models], self.device)
        # An ordinary model that lends itself to one replica at a time: to measure it, and to name its tensors.
        self.scratch = models[0].to(self.device)
        moving = {name for name, parameter in self.scratch.named_parameters() if parameter.requires_grad}
        self.moving = {name: tensor for name, tensor in self.weights.items() if name in moving}
        self.fixed = {name: tensor for name, tensor in self.weights.items() if name not in moving}
        self.optimiser = StackedAdamW(self.scratch, self.moving, self.specs, self.steps)
        # The running mean of the weights, where one is wanted: what is measured and kept for use.
        self.average = {name: tensor.clone() for name, tensor in self.everything()} if self.spec.training.ema else None
        # Of each replica the first step whose loss or gradient was not finite. It takes no step from then on.
        self.first_bad_R = torch.full((len(jobs),), -1.0, device=self.device)
        # The kernels that a step may use are tried before `vmap` is about, within which they cannot be.
        linear_cross_entropy.foreseen(self.scratch, self.spec.training.precision, self.device)
        self._gradients = self._carried()
        self.recorded = cuda_graphs.Recorded(self._improve, self.device, self.spec.training)
        self.forward = cuda_graphs.RecordedForward(self.scratch, self.device, self.spec.training)

    @property
    def members(self) -> list["Replica"]:
        """The models that take a step, each by itself."""
        return [Replica(self, number) for number in range(len(self.specs))]

    def everything(self) -> Iterator[tuple[str, Tensor]]:
        """Every stacked tensor of the models by name."""
        yield from self.weights.items()
        yield from self.buffers.items()

    def _carried(self) -> Callable[..., tuple[Tensors, Tensor]]:
        """A function of stacked weights and batches that gives every replica's gradients and loss."""
        model = copy.deepcopy(self.scratch)
        make_plain(model)
        asked = _Asked(model, self.task)

        def loss(moving: Tensors, fixed: Tensors, buffers: Tensors, batch: Batch, count: Tensor) -> Tensor:
            own = {f"model.{name}": tensor for name, tensor in (moving | fixed | buffers).items()}
            return functional_call(asked, own, (batch,)) / count

        return vmap(grad_and_value(loss), randomness="different")

    def batch(self, step: int) -> tuple[Batch, Tensor]:
        """(the batch of each replica, how many predictions it asks for), on the CPU; the first axis is the replica."""
        size = self.spec.training.batch
        epochs, examples = self.order(step)
        together = self.task.batch(self.train, self.seeds.repeat(size), epochs, examples)
        apart = {name: tensor.unflatten(0, (-1, size)) for name, tensor in together.items()}
        return apart, self.task.predictions_per_batch(apart).float()

    def step(self, step: int) -> StepResult:
        """One optimiser step of every replica that is alive."""
        batch, counts_R = self.batch(step)
        numbers = torch.cat([torch.tensor([step, mean_pace(self.spec.training.ema, step)]), counts_R])
        if self.recorded.wanted:
            batch = cuda_graphs.steady(batch, self.task.largest_batch(1))
        # Masks of dropout differ from those of a replica that trains alone; all else is the same.
        torch.manual_seed(batches.seed_of(self.spec.training.seed, step))
        losses_R, norms_R = self.recorded(batch, numbers)
        return StepResult(losses_R, norms_R, self.optimiser.rates(step))

    @torch.no_grad()
    def _improve(self, batch: Batch, numbers: Tensor) -> Tensor:
        """The step on the device, (2, R): losses and gradient norms. Clips each replica's gradient, latches the replicas
        whose step was not finite, moves the others."""
        step, pace, counts_R = numbers[0], numbers[1], numbers[2:]
        with precision.context(self.spec.training.precision, self.device):
            gradients, losses_R = self._gradients(self.moving, self.fixed, self.buffers, batch, counts_R)
        norms_R = torch.stack([each.reshape(len(each), -1).norm(dim=1) for each in gradients.values()]).norm(dim=0)
        latch(self.first_bad_R, step, losses_R, norms_R)
        limit = self.spec.training.clip or float("inf")
        factor_R = (limit / (norms_R + 1e-6)).clamp(max=1.0)
        self.optimiser.step(gradients, step.long(), factor_R, self.first_bad_R >= 0)
        if self.average is not None:
            remember(self.average, dict(self.everything()), pace)
        return torch.stack([losses_R, norms_R])

    def freeze(self, which: Sequence[bool]) -> None:
        """Have these replicas take no step from now on."""
        self.first_bad_R[torch.tensor(which, device=self.device)] = 0.0

    def failures(self) -> list[int]:
        """Of each replica the first step that was not finite, or -1. Waits for the device."""
        return [int(step) for step in self.first_bad_R.tolist()]

    def lend(self, replica: int, tensors: Iterable[tuple[str, Tensor]]) -> nn.Module:
        """The ordinary model with one replica's share of stacked tensors, until it is lent again."""
        own = dict(self.scratch.named_parameters()) | dict(self.scratch.named_buffers())
        with torch.no_grad():
            for name, tensor in tensors:
                own[name].copy_(tensor[replica])
        return self.scratch

    def take(self, replica: int, tensors: Iterable[tuple[str, Tensor]]) -> None:
        """One replica's share of stacked tensors from the ordinary model."""
        own = dict(self.scratch.named_parameters()) | dict(self.scratch.named_buffers())
        with torch.no_grad():
            for name, tensor in tensors:
                tensor[replica] = own[name]


class Replica:
    """One replica, as the loop sees an engine: it can be measured, saved and restored."""

    def __init__(self, together: Replicas, number: int) -> None:
        self.together, self.number = together, number
        self.spec, self.device, self.task = together.specs[number], together.device, together.task
        self.chosen: Tensors | None = None

    def evaluate(
        self, shard: Shard, final: bool = False, progress: Callable[[float], None] = lambda share: None
    ) -> dict[str, float]:
        """The task's metrics on a split."""
        together = self.together
        if self.chosen is None:
            mean = together.average
            model = together.lend(self.number, together.everything() if mean is None else mean.items())
        else:
            model = together.scratch
            load_weights(model, self.chosen, "the best checkpoint")
        with precision.context(self.spec.training.precision, self.device):
            return self.task.evaluate(model, shard, self.spec.evaluation, final, progress, together.forward)

    def groups(self) -> dict[str, Tensors]:
        """All tensors that a later process needs to go on, together or alone."""
        together = self.together
        found = {
            "model": _kept(together.lend(self.number, together.everything())),
            "optimiser": together.optimiser.state(self.number),
        }
        if together.average is not None:
            found["average"] = _kept(together.lend(self.number, together.average.items()))
        return found

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        together, where = self.together, f"the checkpoint step-{checkpoint.step:08d}"
        load_weights(together.scratch, checkpoint.groups["model"], where)
        together.take(self.number, together.everything())
        together.optimiser.restore(self.number, checkpoint.groups["optimiser"])
        if together.average is not None:
            load_weights(together.scratch, checkpoint.groups["average"], where)
            together.take(self.number, together.average.items())

    def use(self, weights: Tensors, where: str) -> None:
        """Measure these weights from now on; training cannot go on afterwards."""
        load_weights(self.together.scratch, weights, where)
        self.chosen = weights


def _stacked(models: Sequence[Tensors], device: torch.device) -> Tensors:
    """Tensors of one name, one from each model, along a new first axis."""
    return {name: torch.stack([model[name].detach() for model in models]).to(device) for name in models[0]}


def _kept(model: nn.Module) -> Tensors:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}
