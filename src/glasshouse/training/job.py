"""A job: a spec with its text made ready, from which engines are built."""

import math
from dataclasses import dataclass, replace

import torch

from glasshouse import models
from glasshouse.data import preparing
from glasshouse.data.preparing import Prepared
from glasshouse.parts.laws import demand
from glasshouse.records import progress
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Task
from glasshouse.tokenizers import Tokenizer
from glasshouse.training.engine import Engine


@dataclass(frozen=True)
class Job:
    """Everything training needs but the weights."""

    spec: Spec
    prepared: Prepared
    task: Task
    steps: int
    device: torch.device
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: Spec, device: torch.device, tokenizer: Tokenizer | None = None) -> "Job":
        """Check that the parts fit together, then make the text ready, showing progress where that takes a while."""
        if not spec.data.source and not spec.data.files:
            raise SpecError(
                "this spec has neither text nor steps: it is of an imported model, which cannot be trained further yet; "
                "a new one of its shape can: glasshouse train PATH/spec.toml data.files=mine.txt training.steps=500"
            )
        task: Task = catalogue.find("task", spec.task, "task").of(spec)
        task.fits(models.check(task.draft(spec.model), spec.data.context), spec.model.kind)
        if spec.training.accumulate > 1:
            norm = catalogue.find("norm", spec.model.norm)
            demand(norm, "batch", f"training.accumulate={spec.training.accumulate} with model.norm={spec.model.norm!r}")
        with progress.bar("preparing text") as bar:
            show = lambda what, share: bar(share, what)  # noqa: E731
            prepared = preparing.prepare(spec.data, tokenizer, show, task.columns, task.specials)
        spec = replace(spec, model=task.complete(spec.model, prepared))
        training = spec.training
        examples = task.examples(prepared.splits["train"])
        steps = training.steps or max(math.ceil(training.epochs * examples / training.batch), 1)
        notes = list(prepared.notes)
        for split, shard in prepared.splits.items():
            if cut := task.cut(shard):
                notes.append(f"{cut} of {shard.documents} {split} texts are longer than data.context and are cut")
        return cls(spec, prepared, task, steps, device, tuple(notes))

    def engine(self, precision: str | None = None) -> Engine:
        """A new engine with the spec's initial weights."""
        spec = self.spec
        if precision:
            spec = replace(spec, training=replace(spec.training, precision=precision))
        model = models.build(spec.model, self.prepared.tokenizer.vocabulary, spec.data.context, spec.training.seed)
        return Engine(spec, self.steps, self.task, model, self.prepared.splits["train"], self.device)
