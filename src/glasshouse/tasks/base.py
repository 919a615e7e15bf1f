"""What a task is: how examples become a batch, the loss, the metrics it reports, and what a report shows of its runs.

The methods of a task are called in this order:

1. `from_spec` makes the task, from the spec alone. `draft_model` and `check_model` hold the model against it before any data
   are read.
2. `complete_model` sees the prepared data: it refuses what does not suffice, and fills in what follows from the data.
   An opened run, whose data may be gone, calls `set_vocabulary` instead.
3. `initialise` gives a new model what it knows of the training data besides its weights.
4. In every step: `batch` on the CPU, then `loss_sum` on the device, divided by `prediction_count`.
5. `evaluate` during training and, with `final`, at the end.

`largest_batch`, `output_size`, `batch_tokens` and `evaluation_tokens` are for predicting memory, FLOPs and time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import LOSS, PERPLEXITY, Metrics
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tokenizers import Tokenizer

# Named tensors whose first axis is the example, so that any task's batch can be cut into parts.
Batch = dict[str, Tensor]
Forward = Callable[..., Tensor]
# The target of a token that has no loss.
IGNORED = -100


@dataclass(frozen=True)
class QualityCurves:
    """The second chart of a report: its title, and its curves by name, each a column of the metric log.

    With `exponential`, the columns are losses and their exponential (the perplexity) is drawn.
    """

    title: str
    columns: Mapping[str, str]
    exponential: bool = False


class Task(ABC):
    """How examples become a batch, the loss on it, and what is reported."""

    # What the task reports, in the order of its tables, and which of them head a report.
    metrics: ClassVar[Metrics] = Metrics([LOSS], ["loss"])
    # The metric that decides which checkpoint is the best.
    criterion: ClassVar[str] = "loss"
    # The report's chart of quality over training, and sections of the report besides those of every run
    # (`inspection/run_report.py` lists them).
    quality: ClassVar[QualityCurves] = QualityCurves(
        PERPLEXITY.title, {"training": "loss", "validation": "validation.loss"}, exponential=True
    )
    report_sections: ClassVar[tuple[str, ...]] = ()
    # The head that a model of this task has where its spec names none; empty means the usual one of the kind of model.
    head: ClassVar[str] = ""
    # Fields of the spec that only some tasks read (`of_task` in specs/spec.py), and that this one does.
    reads: ClassVar[tuple[str, ...]] = ()
    # What each document must have besides its text, and special tokens that a tokenizer trained for this task must have.
    columns: ClassVar[tuple[str, ...]] = ()
    specials: ClassVar[tuple[str, ...]] = ()
    # Whether the loss can be computed without writing out the logits, where `linear_cross_entropy` allows.
    fused_loss: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Spec) -> "Task":
        """The task of a spec."""

    @abstractmethod
    def check_model(self, model: nn.Module, kind: str) -> None:
        """Refuse a model that cannot do the task; `kind` is its word in the spec."""

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        """The model spec with what the task asks of it, as far as that is known before the data."""
        return model

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        """Receive the tokenizer, and the names of the classes where there are some, before the first batch."""
        return

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        """The model spec with what follows from the data. Refuses data that do not suffice."""
        return model

    def initialise(self, model: nn.Module) -> None:
        """Give a new model what it knows of the training data besides its weights; for most tasks, nothing."""
        return

    def truncated(self, shard: Shard) -> int:
        """How many texts are longer than the context and are read in part; 0 where texts are cut into windows anyway."""
        return 0

    @abstractmethod
    def example_count(self, shard: Shard) -> int:
        """How many examples make one epoch."""

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        """The length of each example, where batches should hold similar lengths; None where all are alike."""
        return None

    @abstractmethod
    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        """These examples, on the CPU. Depends on the arguments alone; the seed is one for all, or one for each example."""

    @abstractmethod
    def predictions_per_batch(self, batches: Batch) -> Tensor:
        """The number of predictions in each of several batches, which are stacked along a first axis."""

    def prediction_count(self, batch: Batch) -> int:
        """The number of predictions in a batch: what its summed loss is divided by."""
        return int(self.predictions_per_batch({name: tensor[None] for name, tensor in batch.items()})[0])

    @abstractmethod
    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        """The sum of the losses of a batch, so that micro-batches add up to the whole batch exactly."""

    @abstractmethod
    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        """The metrics of a model on a split; without `final`, a cheaper estimate may do.

        `forward`, where it is given, calls the model in a faster way: in training, from recorded CUDA graphs.
        """

    @abstractmethod
    def batch_tokens(self, batch: int) -> int:
        """Tokens in a batch of this size, for throughput and FLOPs."""

    @abstractmethod
    def largest_batch(self, rows: int) -> Batch:
        """A batch of the largest possible shapes and no meaning, for predicting memory."""

    @abstractmethod
    def output_size(self, rows: int, vocabulary: int) -> int:
        """How many numbers the model puts out for such a batch."""

    @abstractmethod
    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        """Tokens read by this many evaluations during training and by the final ones."""

    def example_command(self, run: str, prompt: str) -> str:
        """A command that uses a run of this task, for the suggestions after training; empty where there is none."""
        return ""
