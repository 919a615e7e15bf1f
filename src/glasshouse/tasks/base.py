"""The base class of tasks: how examples become a batch, the loss, the scores, and the task's sections of a report.

The methods of a task are called in this order:

1. `check_spec` refuses a spec, from which alone the task is created. `draft_model` and `check_model` check
   the model before data are read.
2. `complete_model` receives the prepared data. It refuses insufficient data and fills in fields that follow from the data.
   An opened run, whose data may be gone, calls `set_vocabulary` instead.
3. `initialise` stores statistics of the training data in a new model, if the task needs them.
4. In every step: `batch` on the CPU, then `loss_sum` on the device, divided by `prediction_count`.
5. `evaluate`, during training and at the end: `score` gives the scores of a split, and every metric is a function of them.

`largest_batch`, `batch_tokens` and `evaluation_tokens` predict memory, FLOPs and time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import LOSS, PERPLEXITY, Metrics
from glasshouse.models.base import Model
from glasshouse.models.heads.base import Head
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tokenizers import Tokenizer

# Named tensors whose first axis is the example, so that any task's batch can be split into micro-batches.
Batch = dict[str, Tensor]
Forward = Callable[..., Tensor]
Progress = Callable[[float], None]
# The target of a position that does not contribute to the loss.
IGNORED = -100


def no_progress(share: float) -> None:
    return


@dataclass(frozen=True)
class QualityCurves:
    """The second chart of a report: its title, and a column of the metric log for each named curve.

    `exponential`: the chart shows the exponential of losses, the perplexity.
    """

    title: str
    columns: Mapping[str, str]
    exponential: bool = False


@dataclass(frozen=True)
class LabelSmoothing:
    """The setting of tasks that predict tokens."""

    label_smoothing: float = setting(
        0.0, "probability spread evenly over the vocabulary in the target", minimum=0, maximum=0.9
    )


@dataclass(frozen=True)
class Scoring:
    """What is to be scored: a model on these examples of a split. Without `final`, a cheaper estimate is allowed."""

    model: Model
    shard: Shard
    settings: EvaluationSpec
    final: bool
    progress: Progress
    forward: Forward
    examples: np.ndarray

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def batches(self, order: np.ndarray, progress: Progress | None = None) -> Iterator[np.ndarray]:
        """The examples of each batch of an evaluation, in this order."""
        for begin in range(0, len(order), self.settings.batch):
            yield order[begin : begin + self.settings.batch]
            (progress or self.progress)(min((begin + self.settings.batch) / len(order), 1.0))

    def on_device(self, batch: Batch) -> Batch:
        return {name: tensor.to(self.device) for name, tensor in batch.items()}


@dataclass(frozen=True)
class Evaluation:
    """The metrics of a split. A final evaluation also has the values of its items, which the run's folder stores."""

    metrics: dict[str, float]
    items: dict[str, np.ndarray] = field(default_factory=dict)


class Task(ABC):
    """How examples become a batch, the loss of a batch, and the reported metrics."""

    # The reported metrics in table order, with their functions of the scores, and the headline metrics among them.
    metrics: ClassVar[Metrics] = Metrics([LOSS], ["loss"])
    # Arrays of the scores, one value for each item, that a run stores besides the items of the metrics.
    recorded: ClassVar[tuple[str, ...]] = ()
    # The metric that decides which checkpoint is the best.
    criterion: str = "loss"
    # Additional sections of the report (`inspection/run_report.py` lists them).
    report_sections: ClassVar[tuple[str, ...]] = ()
    # What a model that can do this task reads, its heads, and what they give, with a remedy for a model that does not.
    reads: ClassVar[str] = "text"
    heads: ClassVar[tuple[type[Head], ...]] = (Head,)
    needs: ClassVar[str] = ""
    # The default head of this task's models; empty means the default of the kind of model.
    head: ClassVar[str] = ""
    # The settings that the task adds to the tables training and evaluation of a spec (see specs/declared.py).
    Settings: ClassVar[type] = NoSettings
    EvaluationSettings: ClassVar[type] = NoSettings
    # What each document must have in addition to its text, and the special tokens that this task's tokenizer must have.
    columns: tuple[str, ...] = ()
    specials: ClassVar[tuple[str, ...]] = ()
    # What an item of the metrics is, in the plural.
    items: ClassVar[str] = "texts"
    # Whether a run of this task is used on a whole text, so that a suggested command needs one.
    needs_text: ClassVar[bool] = False
    # The command that uses a run of this task, without its first word.
    use: ClassVar[str] = ""
    # Whether the loss can use `linear_cross_entropy` of the model's features for `batch["inputs"]`.
    fused_loss: ClassVar[bool] = False
    # The context in tokens, and the names of the classes, if any.
    context: int
    labels: tuple[str, ...] = ()

    @classmethod
    def check_spec(cls, spec: Spec) -> None:
        """Refuse settings that contradict each other, before any work starts."""
        return

    def __init__(self, spec: Spec) -> None:
        self.context = spec.data.context

    def accepts(self, model: Model) -> bool:
        return model.reads == self.reads and isinstance(model.head, self.heads)

    def check_model(self, model: Model, kind: str) -> None:
        """Refuse a model that cannot do the task; `kind` is its name in the spec."""
        if not self.accepts(model):
            raise SpecError(f"with this head does not give {self.needs}", "model.kind", kind)

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        """The model spec with the fields that the task requires, as far as they are known before the data are read."""
        return model

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        """Receive the tokenizer and the names of the classes, if any. Called before the first batch."""
        return

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        """The model spec with the fields that follow from the data. Refuses insufficient data."""
        if not prepared.splits["train"].documents:
            raise DataError(f"the training split has no {self.items}; use more rows, or hold out fewer")
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    def initialise(self, model: Model) -> None:
        """Store statistics of the training data in a new model. Most tasks need none."""
        return

    def notes(self) -> tuple[str, ...]:
        """What happens before the first step, for the user. `complete_model` was called."""
        return ()

    def for_timing(self) -> "Task":
        """The task for steps that are only timed: without what is fitted to the data before training."""
        return self

    def truncated(self, shard: Shard) -> int:
        """The number of texts that are truncated to the context; 0 if the task splits texts into windows."""
        return 0

    def example_count(self, shard: Shard) -> int:
        """The number of examples in one epoch."""
        return shard.documents

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        """The length of each example, if batches should hold examples of similar lengths; else None."""
        return None

    @abstractmethod
    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        """The batch of these examples, on the CPU. It depends on the arguments alone. `seed` is one value, or one per
        example."""

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        """The number of targets that are not IGNORED, or else of examples, in each of several batches, which are stacked."""
        if "targets" in batches:
            return (batches["targets"] != IGNORED).flatten(1).sum(1).clamp(min=1)
        first = next(iter(batches.values()))
        return torch.full((len(first),), first.shape[1])

    def prediction_count(self, batch: Batch) -> int:
        """The number of predictions in a batch: what its summed loss is divided by."""
        return int(self.predictions_per_batch({name: tensor[None] for name, tensor in batch.items()})[0])

    @abstractmethod
    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        """The sum of the losses of a batch. A sum, because the sums of micro-batches add up to that of the batch."""

    @abstractmethod
    def score(self, scoring: Scoring) -> object:
        """The scores of a split, from which `metrics` are computed. The model is in evaluation mode, without gradients."""

    def scores(
        self,
        model: Model,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool = True,
        progress: Progress = no_progress,
        forward: Forward | None = None,
        examples: np.ndarray | None = None,
    ) -> Any:
        """The scores of a model on a split, or on some of its examples; the arguments are those of a `Scoring`."""
        examples = np.arange(shard.documents) if examples is None else examples
        with evaluation_mode(model):
            return self.score(Scoring(model, shard, settings, final, progress, forward or model, examples))

    def evaluate(self, model: Model, shard: Shard, settings: EvaluationSpec, final: bool = True, **how: Any) -> Evaluation:
        """The metrics of a model on a split, and in a final evaluation the values of its items. `how` is for `scores`."""
        scores = self.scores(model, shard, settings, final, **how)
        metrics = self.metrics.measure(scores)
        if not final:
            return Evaluation(metrics)
        recorded = {name: getattr(scores, name) for name in self.recorded}
        return Evaluation(metrics, {**self.metrics.measure_items(scores), **recorded})

    @property
    def quality(self) -> QualityCurves:
        """The report's chart of quality over training: the criterion, or the perplexity if that is the loss."""
        if self.criterion == "loss":
            return QualityCurves(PERPLEXITY.title, {"training": "loss", "validation": "validation.loss"}, exponential=True)
        return QualityCurves(self.metrics[self.criterion].title, {"validation": f"validation.{self.criterion}"})

    @property
    def item_metrics(self) -> tuple[str, ...]:
        return tuple(name for name, metric in self.metrics.items() if metric.items)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the model's outputs, if they are not the tokens of the vocabulary."""
        return self.labels

    def probabilities(self, logits: Tensor) -> Tensor:
        return logits.softmax(-1)

    def item_count(self, shard: Shard) -> int:
        return shard.documents

    def batch_tokens(self, batch: int) -> int:
        """Tokens in a batch of this size, for throughput and FLOPs."""
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        """A batch of the largest possible shapes, without meaningful content, for predicting memory."""
        tokens = torch.zeros(rows, self.context, dtype=torch.int64)
        return {"inputs": tokens, "targets": tokens}

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        """The number of tokens read by `rounds` evaluations during training and by the final evaluations."""
        validation, test = (self.batch_tokens(splits[split].documents) for split in ("validation", "test"))
        return (rounds + 1) * validation + test

    def example_command(self, run: str, text: str, second: str = "") -> str:
        """A command that uses a run of this task, suggested after training; empty if there is none. The texts are quoted."""
        return self.use and f"glasshouse {self.use.format(run=run, text=text)}"


@contextmanager
def evaluation_mode(model: Model) -> Iterator[None]:
    """The model without dropout and without gradients."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def shares_of_ratio(sums: np.ndarray, total: float) -> np.ndarray:
    """One value per item whose mean is sum(sums) / total, as for a loss per token: each sum over the mean count per item."""
    return sums * (len(sums) / total)
