"""Replicas: several runs of one model shape that are trained together as one program. Knows no run folders.

The weights of all replicas are stacked along a new first axis, and `torch.func.vmap` vectorises the step over it; model and
task are unchanged. Replicas may differ in seed, learning rate, weight decay and initialisation, but not in shapes. Attention
uses its plain path here, because the fused kernels have no `vmap` rule.

Axes: R replicas.
"""

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from glasshouse.data import batches
from glasshouse.data.batches import BatchOrder
from glasshouse.data.shards import Shard
from glasshouse.models.base import Model
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.recurrence import Cell
from glasshouse.records.checkpoint import Checkpoint, Tensors, name_of
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.tasks import linear_cross_entropy, text_windows
from glasshouse.tasks.base import Batch, Evaluation
from glasshouse.training import cuda_graphs, devices, engine, precision
from glasshouse.training.adamw import StackedAdamW
from glasshouse.training.compiling import compiled
from glasshouse.training.engine import Engine, StepResult, load_weights
from glasshouse.training.freezing import UnfreezingSchedule
from glasshouse.training.job import Job
from glasshouse.training.parallelism import LossModule, Parallelism

# The fields that may differ between replicas.
FREE_FIELDS = {"training": ("seed", "learning_rate", "weight_decay"), "model": ("initialisation",)}


def can_be_replicas(first: Spec, second: Spec) -> bool:
    """Whether runs of two specs can be trained together as replicas."""
    return with_free_fields(first, second) == second


def with_free_fields(spec: Spec, source: Spec, without: Collection[str] = ()) -> Spec:
    """The spec with the fields of `source` that may differ between replicas, but for some."""
    for section, names in FREE_FIELDS.items():
        own = {name: getattr(getattr(source, section), name) for name in names if f"{section}.{name}" not in without}
        spec = replace(spec, **{section: replace(getattr(spec, section), **own)})
    return spec


def has_dropout(model: ModelSpec) -> bool:
    """Whether a part of the model drops activations in training."""
    settings = {"dropout": model.dropout, **model.own, **model.head.own}
    return any("dropout" in name and value for name, value in settings.items())


def obstacle(spec: Spec) -> str | None:
    """The reason why runs of this spec cannot be replicas, or None if they can."""
    training = spec.training
    reasons = {
        "gradient_accumulation": (training.gradient_accumulation > 1, "splits batches into micro-batches"),
        "processes": (training.processes > 1, "take the steps of one run together"),
        "checkpoint_activations": (training.checkpoint_activations, "computes the blocks of a single model again"),
        "fp8_products": (training.fp8_products, "computes the products of a single model"),
        "optimiser": (training.optimiser != "adamw", "has no version for replicas"),
    }
    found = (f"training.{field}={getattr(training, field)} {reason}" for field, (is_so, reason) in reasons.items() if is_so)
    return next(found, None)


def use_plain_parts(model: nn.Module) -> None:
    """Turn off the fused kernels of attentions and recurrent cells, which `vmap` cannot look into."""
    for module in model.modules():
        if isinstance(module, Attention | Cell):
            module.plain = True


class Replicas:
    """Several models of one shape, their task and their optimiser."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        first_job = jobs[0]
        self.specs = [job.spec for job in jobs]
        self.spec, self.steps, self.task, self.device = first_job.spec, first_job.steps, first_job.task, first_job.device
        self.train_shard: Shard = first_job.prepared.splits["train"]
        self.seeds = np.array([spec.training.seed for spec in self.specs])
        examples, lengths = self.task.example_count(self.train_shard), self.task.example_lengths(self.train_shard)
        self.stages = first_job.stages
        self.order = BatchOrder(self.seeds, self.stages, examples, lengths)
        models = [job.model().train() for job in jobs]
        self.weights = _stacked([dict(model.named_parameters()) for model in models], self.device)
        self.buffers = _stacked([dict(model.named_buffers()) for model in models], self.device)
        # An ordinary model that receives the tensors of one replica at a time, for evaluations and checkpoints.
        self.scratch = models[0].to(self.device)
        if self.spec.training.bf16_residual:
            precision.round_residual_stream(self.scratch)
        # Its parameters say which parameters of all replicas are trained at a step. The last step trains the most.
        self.unfreezing = UnfreezingSchedule(self.scratch, self.spec.training, self.steps)
        self.unfreezing.apply(self.steps)
        self.optimiser = StackedAdamW(self.scratch, self._trained(), self.specs, self.steps)
        self.unfreezing.apply(0)
        # The exponential moving average of the weights, which is evaluated and used in place of the weights.
        self.average = engine.copies(self.stacked) if self.spec.training.ema else None
        # For each replica, the first step whose loss or gradient was not finite, or -1. The replica takes no later step.
        self.first_nonfinite_R = torch.full((len(jobs),), -1.0, device=self.device)
        # This builds the kernels that a step may use. They cannot be built within `vmap`.
        linear_cross_entropy.supports(self.scratch, self.spec.training.precision, self.device)
        self._losses = self._vectorised_loss()
        self.graphed_step = cuda_graphs.GraphedStep(self._update, self.device, self.spec.training)
        self.graphed_forward = cuda_graphs.GraphedForward(self.scratch, self.device, self.spec.training)

    @property
    def members(self) -> list["Replica"]:
        return [Replica(self, number) for number in range(len(self.specs))]

    @property
    def stacked(self) -> Tensors:
        return self.weights | self.buffers

    def _vectorised_loss(self) -> Callable[..., Tensor]:
        """A function from stacked weights and batches to the loss of every replica."""
        model: Any = copy.deepcopy(self.scratch)
        use_plain_parts(model)
        task, loss_module = self.task, LossModule(model, self.task.loss_sum)

        def call(tensors: Tensors, work: Batch | Callable[[], Any]) -> Tensor:
            return functional_call(loss_module, {f"model.{name}": tensor for name, tensor in tensors.items()}, (work,))

        def loss(tensors: Tensors, batch: Batch, count: Tensor) -> Tensor:
            return call(tensors, batch) / count

        def features(tensors: Tensors, inputs: Tensor) -> Tensor:
            return call(tensors, lambda: model.features(inputs))

        def loss_of_features(tensors: Tensors, batch: Batch, count: Tensor, ready: Tensor) -> Tensor:
            with_features: Any = linear_cross_entropy.WithFeatures(model, lambda inputs: ready)
            return call(tensors, lambda: task.loss_sum(with_features, batch)) / count

        vectorised: Any = partial(vmap, randomness="different")
        if not self.spec.training.compile:
            return vectorised(loss)
        if not (task.fused_loss and linear_cross_entropy.supports(model, self.spec.training.precision, self.device)):
            return compiled(vectorised(loss))
        # The kernels of the loss cannot be compiled.
        compiled_features, losses = compiled(vectorised(features)), vectorised(loss_of_features)
        return lambda tensors, batch, counts: losses(tensors, batch, counts, compiled_features(tensors, batch["inputs"]))

    def _gradients(self, batch: Batch, counts_R: Tensor) -> tuple[Tensors, Tensor]:
        """The gradients and the loss of every replica, which are independent, from the sum of the losses.

        `torch.func.grad` inside `vmap` gives the same, but keeps all for second derivatives: twice the memory.
        """
        number_format = self.spec.training.precision
        with torch.enable_grad(), precision.float32_products(number_format, self.device):
            leaves = {name: tensor.detach().requires_grad_() for name, tensor in self._trained().items()}
            with precision.context(number_format, self.device):
                losses_R = self._losses(self.stacked | leaves, batch, counts_R)
            gradients = torch.autograd.grad(losses_R.sum(), [*leaves.values()], materialize_grads=True)
        return dict(zip(leaves, gradients, strict=True)), losses_R.detach()

    def _trained(self) -> Tensors:
        """The stacked parameters that are trained at the present step."""
        return {name: self.weights[name] for name, parameter in self.scratch.named_parameters() if parameter.requires_grad}

    def batch(self, step: int) -> tuple[Batch, Tensor]:
        """(the batches of all replicas, the number of predictions in each), on the CPU; the first axis is the replica."""
        stage = self.stages.at(step)
        epochs, examples = self.order(step)
        combined = self.task.batch(self.train_shard, self.seeds.repeat(stage.batch), epochs, examples)
        if stage.pieces > 1:
            combined = text_windows.split(combined, stage.pieces)
        stacked = {name: tensor.unflatten(0, (len(self.seeds), -1)) for name, tensor in combined.items()}
        return stacked, self.task.predictions_per_batch(stacked).float()

    def step(self, step: int) -> StepResult:
        """Take one optimiser step of every replica that has not failed."""
        self.unfreezing.apply(step)
        batch, counts_R = self.batch(step)
        numbers = torch.cat([torch.tensor([step, engine.ema_update_rate(self.spec.training.ema, step)]), counts_R])
        if self.graphed_step.enabled:
            batch = cuda_graphs.pad_to_multiple(batch, self.task.largest_batch(1))
        # Dropout masks differ from those of a run that trains alone. Everything else is the same.
        devices.seed(self.device, batches.step_seed(self.spec.training.seed, step))
        losses_R, norms_R = self.graphed_step(batch, numbers, self.unfreezing.lowest_trained)
        return StepResult(losses_R, norms_R, self.optimiser.rates(step))

    @torch.no_grad()
    def _update(self, batch: Batch, numbers: Tensor) -> Tensor:
        """The part of a step that runs on the device; returns losses and gradient norms, (2, R)."""
        step, ema_rate, counts_R = numbers[0], numbers[1], numbers[2:]
        gradients, losses_R = self._gradients(batch, counts_R)
        flat_gradients = (gradient.reshape(len(gradient), -1) for gradient in gradients.values())
        norms_R = torch.stack([gradient.norm(dim=1) for gradient in flat_gradients]).norm(dim=0)
        engine.record_first_nonfinite(self.first_nonfinite_R, step, losses_R, norms_R)
        limit = self.spec.training.clip or float("inf")
        factor_R = (limit / (norms_R + 1e-6)).clamp(max=1.0)
        self.optimiser.step(gradients, step.long(), factor_R, self.first_nonfinite_R >= 0)
        if self.average is not None:
            engine.update_average(self.average, self.stacked, ema_rate)
        return torch.stack([losses_R, norms_R])

    def deactivate(self, mask: Sequence[bool]) -> None:
        self.first_nonfinite_R[torch.tensor(mask, device=self.device)] = 0.0

    def failures(self) -> list[int]:
        """For each replica, the first step that was not finite, or -1. Waits for the device."""
        return [int(step) for step in self.first_nonfinite_R.tolist()]

    @torch.no_grad()
    def copy_to_scratch(self, replica: int, tensors: Tensors) -> Model:
        """Copy one replica's slice of stacked tensors to the scratch model; returns the scratch model."""
        for name, tensor in (*self.scratch.named_parameters(), *self.scratch.named_buffers()):
            tensor.copy_(tensors[name][replica])
        return self.scratch

    @torch.no_grad()
    def copy_from_scratch(self, replica: int, tensors: Tensors) -> None:
        for name, tensor in (*self.scratch.named_parameters(), *self.scratch.named_buffers()):
            tensors[name][replica] = tensor


class Replica:
    """One replica, which is evaluated, saved and restored as an engine is.

    Its run can be resumed from its checkpoints alone or among replicas.
    """

    def __init__(self, replicas: Replicas, number: int) -> None:
        self.replicas, self.number = replicas, number
        self.spec, self.device, self.task = replicas.specs[number], replicas.device, replicas.task
        self.graphed_forward, self.parallelism = replicas.graphed_forward, Parallelism()
        self.evaluation_weights: Tensors | None = None

    @contextmanager
    def evaluated_model(self) -> Iterator[Model]:
        """The scratch model with this replica's weights: the averaged ones, or those that `use_weights` has set."""
        replicas = self.replicas
        if self.evaluation_weights is None:
            replicas.copy_to_scratch(self.number, replicas.average or replicas.stacked)
        else:
            load_weights(replicas.scratch, self.evaluation_weights, "the best checkpoint")
        yield replicas.scratch

    def checkpoint_groups(self) -> dict[str, Tensors]:
        replicas = self.replicas
        groups = {"model": replicas.stacked} | ({"average": replicas.average} if replicas.average else {})
        saved = {
            name: engine.copies(replicas.copy_to_scratch(self.number, stacked).state_dict())
            for name, stacked in groups.items()
        }
        return saved | {"optimiser": replicas.optimiser.state(self.number)}

    def restore(self, checkpoint: Checkpoint) -> None:
        replicas, where = self.replicas, f"the checkpoint {name_of(checkpoint.step)}"
        for name, stacked in (("model", replicas.stacked), ("average", replicas.average)):
            if stacked is not None:
                load_weights(replicas.scratch, checkpoint.groups[name], where)
                replicas.copy_from_scratch(self.number, stacked)
        replicas.optimiser.restore(self.number, checkpoint.groups["optimiser"])

    def use_weights(self, weights: Tensors, where: str) -> None:
        load_weights(self.replicas.scratch, weights, where)
        self.evaluation_weights = weights


TrainableModel = Engine | Replica


def evaluate(trained: TrainableModel, shard: Shard, **options: Any) -> Evaluation:
    """The task's metrics on a split, and in rank 0 the values of its items. `options` are those of the task."""
    items: dict[str, np.ndarray] = {}

    def compute() -> dict[str, float]:
        settings, forward = trained.spec.evaluation, trained.graphed_forward
        with precision.context(trained.spec.training.precision, trained.device):
            evaluation = trained.task.evaluate(model, shard, settings, forward=forward, **options)
        items.update(evaluation.items)
        return evaluation.metrics

    with trained.evaluated_model() as model:
        return Evaluation(trained.parallelism.from_main(compute), items)


def _stacked(models: Sequence[Tensors], device: torch.device) -> Tensors:
    return {name: torch.stack([model[name].detach() for model in models]).to(device) for name in models[0]}
