"""A job: a spec with its prepared data. Engines are built from it."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from glasshouse import models
from glasshouse.data import batch_stages, corpus_shards, prepared_data
from glasshouse.data.batch_stages import BatchStages
from glasshouse.data.batches import BatchOrder
from glasshouse.data.prepared_data import PreparedData
from glasshouse.formatting import size
from glasshouse.parts.capabilities import require
from glasshouse.records import progress_bar
from glasshouse.records.checkpoint import Tensors
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Batch, Task
from glasshouse.tokenizers import Tokenizer
from glasshouse.training import adaptation, devices, evaluation_interval, lora, optimisers, warm_start
from glasshouse.training.activation_checkpointing import checkpoint_activations
from glasshouse.training.engine import Engine
from glasshouse.training.evaluation_interval import EvaluationCost
from glasshouse.training.parallelism import Parallelism
from glasshouse.training.warm_start import WeightTransfer

# Batches that are read to measure the mean length of sequences.
LENGTH_BATCHES = 32


def _token_count(batch: Batch) -> int:
    """The number of tokens in the sequences of a batch, padding included."""
    return sum(tensor.numel() for tensor in batch.values() if tensor.ndim == 2 and not tensor.is_floating_point())


def check(spec: Spec, device: torch.device | None = None) -> Task:
    """Check that the spec names data, and its parts. Reads no data and returns the task."""
    if not spec.data.source and not spec.data.files:
        remedy = "fine-tune it: glasshouse train language-model training.start_from=RUN data.files=mine.txt"
        raise SpecError(f"this spec belongs to an imported model and names no data; {remedy}")
    return check_parts(spec, device)


def check_parts(spec: Spec, device: torch.device | None = None) -> Task:
    """Check that model and task fit together, and that the memory of the device, if there is one, holds the weights alone.

    Returns the task. Nothing is allocated.
    """
    task: Task = catalogue.find("task", spec.task, "task")(spec)
    adaptation.check(spec)
    optimisers.of_name(spec.training).check(spec.training)
    model = models.check(task.draft_model(spec.model), spec.data.context)
    task.check_model(model, spec.model.kind)
    if spec.task != "next-token" and (count := model.head.future_tokens):
        raise SpecError(
            f"is for task='next-token', not for task={spec.task!r}; remove it", "model.head.future_tokens", count
        )
    for field in ("gradient_accumulation", "processes"):
        if (count := getattr(spec.training, field)) > 1:
            what = f"training.{field}={count} with model.norm={spec.model.norm!r}"
            require(catalogue.find("norm", spec.model.norm), "batch", what)
    of_blocks = sum(parameter.numel() for name, parameter in model.named_parameters() if "blocks." in name)
    needed = 4 * of_blocks * max(spec.model.layers, 1)
    if device and needed > (memory := devices.memory(device) * spec.training.processes):
        sizes = f"model.layers={spec.model.layers} and model.width={spec.model.width}"
        needs = f"the weights of {sizes} need about {size(needed)}, but this device has {size(memory)}"
        raise SpecError(f"{needs}; choose a smaller model, or several GPUs: training.processes=N")
    return task


@dataclass(frozen=True)
class Job:
    """Everything that training needs except the current weights. `start` holds the weights of a warm start."""

    spec: Spec
    prepared: PreparedData
    task: Task
    steps: int
    device: torch.device
    data_notes: tuple[str, ...] = ()
    start_notes: tuple[str, ...] = ()
    start: Tensors | None = None
    transfer: WeightTransfer | None = None

    @classmethod
    def prepare(
        cls,
        spec: Spec,
        device: torch.device,
        tokenizer: Tokenizer | None = None,
        new_run: bool = True,
        prepared: PreparedData | None = None,
        even_if_too_large: bool = False,
    ) -> "Job":
        """Check that model and task fit together, then prepare the data, unless they are those of another job (`prepared`).

        A run that is not new does not read `training.start_from`. A model whose weights are larger than the device's memory
        is refused first, unless `even_if_too_large`.
        """
        task = check(spec, None if even_if_too_large else device)
        devices.check_threads(spec.training.threads)
        adapted: list[str] = []
        # What else adapts does so to texts that are still to be prepared.
        interval_only = spec.data.adapt == (evaluation_interval.FIELD,) or corpus_shards.folder_of(spec.data)
        shortens = interval_only and evaluation_interval.FIELD in spec.data.adapt
        if interval_only:
            spec = adaptation.settled(spec)
        elif spec.data.adapt:
            with progress_bar.bar("reading") as bar:
                source = prepared_data.find_source(spec.data, task.columns)
                source.progress = lambda what, share: bar(share, what)
                spec, adapted = adaptation.adapt(spec, source, task.columns, task.specials)
            task = check(spec)
        if prepared is None:
            with progress_bar.bar("preparing text") as bar:
                prepared = prepared_data.prepare(
                    spec.data, tokenizer, lambda what, share: bar(share, what), task.columns, task.specials
                )
        spec = replace(spec, model=task.complete_model(spec.model, prepared))
        steps = spec.training.steps or batch_stages.steps_for(spec.training, task.example_count(prepared.splits["train"]))
        notes = [*prepared.notes, *adapted]
        for split, shard in prepared.splits.items():
            if truncated := task.truncated(shard):
                notes.append(f"{truncated} of {shard.documents} {split} texts are truncated to data.context")
        job = cls(spec, prepared, task, steps, device, (*notes, *task.notes()))
        if shortens:
            cost = [job.evaluation_cost()]
            job = job.with_interval(evaluation_interval.choose(cost))
            if remark := evaluation_interval.remark(cost, job.spec.evaluation.every):
                job = replace(job, data_notes=(*job.data_notes, remark))
        return job._with_start() if spec.training.start_from and new_run else job

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.data_notes, *self.start_notes)

    def with_spec(self, spec: Spec) -> "Job":
        """The job of another run on the same data. Its model gets the fields that this job derived from the data."""
        spec = adaptation.apply(spec, self.spec)
        model = replace(self.spec.model, initialisation=spec.model.initialisation)
        job = replace(self, spec=replace(spec, model=model))
        # Runs that start from one run share its weights. With {seed} every seed starts from another run.
        other_start = warm_start.SEED in spec.training.start_from and spec.training.seed != self.spec.training.seed
        return job._with_start() if self.start is not None and other_start else job

    def with_training(self, **fields: Any) -> "Job":
        """The job with other values of fields of `training`, to count or time it: a warm start keeps its weights."""
        return replace(self, spec=replace(self.spec, training=replace(self.spec.training, **fields)))

    def _with_start(self) -> "Job":
        """The job with the weights of the run that it starts from."""
        origin = warm_start.find(self.spec.training.start_from, self.spec.training.seed)
        tensors, notes = warm_start.weights_for(self.prepared.tokenizer, origin)
        transfer = warm_start.transfer(self._initial_model(), tensors)
        return replace(self, start=tensors, transfer=transfer, start_notes=(*notes, transfer.note(origin.name)))

    def mean_length(self) -> float:
        """The mean length in tokens to which the first batches are padded. It is the context if no text is shorter."""
        training, train = self.spec.training, self.prepared.splits["train"]
        examples = self.task.example_count(train)
        rows = min(training.batch, examples)
        order = BatchOrder(training.seed, batch_stages.constant(rows), examples, self.task.example_lengths(train))
        largest = _token_count(self.task.largest_batch(rows))
        read = [_token_count(self.task.batch(train, training.seed, *order(step))) for step in range(LENGTH_BATCHES)]
        return self.spec.data.context * min(sum(read) / (LENGTH_BATCHES * largest), 1.0)

    @property
    def stages(self) -> BatchStages:
        return batch_stages.stages_of(self.spec.training, self.steps)

    def sequence_tokens(self) -> float:
        """Tokens in a sequence, for the mean length of sequences."""
        return self.task.batch_tokens(1) * self.mean_length() / self.spec.data.context

    def step_tokens(self) -> float:
        """Tokens in a training step, on average over all steps."""
        return self.sequence_tokens() * self.stages.sequences_before(self.steps) / self.steps

    def evaluation_cost(self) -> EvaluationCost:
        """What evaluations during training cost, compared with the steps. Texts are as long as those of batches."""
        settings, length = self.spec.evaluation, self.mean_length() / self.spec.data.context
        one, final = (self.task.evaluation_tokens(self.prepared.splits, settings, rounds) for rounds in (1, 0))
        return EvaluationCost(self.steps, settings.every, (one - final) * length, self.step_tokens())

    def with_interval(self, every: int) -> "Job":
        return replace(self, spec=replace(self.spec, evaluation=replace(self.spec.evaluation, every=every)))

    def step_flops(self) -> int:
        """FLOPs of the matrix products of a training step, for the mean length of its sequences, on average over all."""
        model, length = self.model_without_weights(), self.mean_length()
        total = 0
        for stage in self.stages:
            tokens = round(length / stage.pieces)
            flops = model.flops(tokens) + model.head.future_flops(tokens)
            total += stage.steps * stage.batch * stage.pieces * flops
        # The backward pass has two products for each one of the forward pass: the gradients of the input and of the weight.
        return 3 * total // self.steps

    def engine(self, precision: str | None = None, parallelism: Parallelism | None = None) -> Engine:
        """A new engine with the initial weights. With `parallelism` it takes its steps together with other processes."""
        spec = self.with_training(precision=precision).spec if precision else self.spec
        train = self.prepared.splits["train"]
        return Engine(spec, self.steps, self.task, self.model(), train, self.device, parallelism)

    def model(self) -> models.Model:
        """A new model with the initial weights, on the CPU; a warm start and LoRA adapters are included."""
        model = self._initial_model()
        if self.start is not None:
            warm_start.transfer(model, self.start)
        self.task.initialise(model)
        lora.attach(model, self.spec.training)
        if self.spec.training.checkpoint_activations:
            checkpoint_activations(model)
        return model

    def _initial_model(self) -> models.Model:
        spec = self.spec
        return models.build(spec.model, self.prepared.tokenizer.vocabulary, spec.data.context, spec.training.seed)

    def model_without_weights(self) -> models.Model:
        """The model without memory for its weights, to count its parameters and FLOPs."""
        with models.WithoutWeights():
            return models.assemble(self.spec.model, self.prepared.tokenizer.vocabulary, self.spec.data.context)
