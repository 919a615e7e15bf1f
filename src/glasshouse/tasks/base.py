"""The base class of tasks: how examples become a batch, the loss, the metrics, and the task's sections of a report.

The methods of a task are called in this order:

1. `from_spec` creates the task from the spec alone. `draft_model` and `check_model` check the model before data are read.
2. `complete_model` receives the prepared data. It refuses insufficient data and fills in fields that follow from the data.
   An opened run, whose data may be gone, calls `set_vocabulary` instead.
3. `initialise` stores statistics of the training data in a new model, if the task needs them.
4. In every step: `batch` on the CPU, then `loss_sum` on the device, divided by `prediction_count`.
5. `evaluate` during training. At the end `final_evaluation`, which also gives values item by item, for the run's folder.
   `evaluate` with `final` and `item_values` give the two separately.

`largest_batch`, `output_size`, `batch_tokens` and `evaluation_tokens` predict memory, FLOPs and time.
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

# Named tensors whose first axis is the example, so that any task's batch can be split into micro-batches.
Batch = dict[str, Tensor]
Forward = Callable[..., Tensor]
# The target of a position that does not contribute to the loss.
IGNORED = -100


@dataclass(frozen=True)
class QualityCurves:
    """The second chart of a report: its title, and a column of the metric log for each named curve.

    With `exponential`, the columns are losses and the chart shows their exponential (the perplexity).
    """

    title: str
    columns: Mapping[str, str]
    exponential: bool = False


class Task(ABC):
    """How examples become a batch, the loss of a batch, and the reported metrics."""

    # The reported metrics in table order, and the headline metrics among them.
    metrics: ClassVar[Metrics] = Metrics([LOSS], ["loss"])
    # The metric that decides which checkpoint is the best.
    criterion: str = "loss"
    # The report's chart of quality over training, and additional sections of the report (`inspection/run_report.py` lists
    # them).
    quality: QualityCurves = QualityCurves(
        PERPLEXITY.title, {"training": "loss", "validation": "validation.loss"}, exponential=True
    )
    report_sections: ClassVar[tuple[str, ...]] = ()
    # The default head of this task's models; empty means the default of the kind of model.
    head: ClassVar[str] = ""
    # The task-specific fields (`task_specific` in specs/spec.py) that this task reads.
    reads: ClassVar[tuple[str, ...]] = ()
    # What each document must have in addition to its text, and the special tokens that this task's tokenizer must have.
    columns: tuple[str, ...] = ()
    specials: ClassVar[tuple[str, ...]] = ()
    # The metrics that are means over items (`item_values`), and what an item is, in the plural.
    item_metrics: ClassVar[tuple[str, ...]] = ()
    items: ClassVar[str] = "texts"
    # Whether a run of this task is used on a whole text, so that a suggested command needs one.
    needs_text: ClassVar[bool] = False
    # Whether the loss can use `linear_cross_entropy` of the model's features for `batch["inputs"]`.
    fused_loss: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Spec) -> "Task":
        """The task of a spec."""

    @abstractmethod
    def check_model(self, model: nn.Module, kind: str) -> None:
        """Refuse a model that cannot do the task; `kind` is its name in the spec."""

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        """The model spec with the fields that the task requires, as far as they are known before the data are read."""
        return model

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        """Receive the tokenizer and the names of the classes, if any. Called before the first batch."""
        return

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        """The model spec with the fields that follow from the data. Refuses insufficient data."""
        return model

    def initialise(self, model: nn.Module) -> None:
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

    @abstractmethod
    def example_count(self, shard: Shard) -> int:
        """The number of examples in one epoch."""

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        """The length of each example, if batches should hold examples of similar lengths; else None."""
        return None

    @abstractmethod
    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        """The batch of these examples, on the CPU. It depends on the arguments alone. `seed` is one value, or one per
        example."""

    @abstractmethod
    def predictions_per_batch(self, batches: Batch) -> Tensor:
        """The number of predictions in each of several batches, stacked along a new first axis."""

    def prediction_count(self, batch: Batch) -> int:
        """The number of predictions in a batch: what its summed loss is divided by."""
        return int(self.predictions_per_batch({name: tensor[None] for name, tensor in batch.items()})[0])

    @abstractmethod
    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        """The sum of the losses of a batch. A sum, because the sums of micro-batches add up to that of the batch."""

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
        """The metrics of a model on a split. Without `final`, a cheaper estimate is allowed.

        `forward` calls the model in a faster way: training replays recorded CUDA graphs.
        """

    def final_evaluation(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """The final metrics of a split, and the values of its items from the same pass over it.

        The values are those of `item_values`, and others that a report needs, such as predicted classes. They are stored in
        the run's folder. A task that does not override this stores none.
        """
        return self.evaluate(model, shard, settings, True, progress, forward), {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Metrics of its own must not be lost to a final evaluation that it inherits.
        if "evaluate" in cls.__dict__ and "final_evaluation" not in cls.__dict__:
            cls.final_evaluation = Task.final_evaluation  # type: ignore[method-assign]

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        """Metric -> one value per item of a split, in the order of the split, for each of `item_metrics`.

        The mean of the values is the metric of the final evaluation. A task that declares such metrics overrides this.
        """
        return {}

    def item_count(self, shard: Shard) -> int:
        """The number of items of a split."""
        return shard.documents

    @abstractmethod
    def batch_tokens(self, batch: int) -> int:
        """Tokens in a batch of this size, for throughput and FLOPs."""

    @abstractmethod
    def largest_batch(self, rows: int) -> Batch:
        """A batch of the largest possible shapes, without meaningful content, for predicting memory."""

    @abstractmethod
    def output_size(self, rows: int, vocabulary: int) -> int:
        """The number of elements in the model's output for the largest batch."""

    @abstractmethod
    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        """The number of tokens read by `rounds` evaluations during training and by the final evaluations."""

    def example_command(self, run: str, text: str, second: str = "") -> str:
        """A command that uses a run of this task, suggested after training; empty if there is none.

        `text` is quoted for the shell: an example if the task `needs_text`, else a prompt or nothing. So is the second text
        of a pair.
        """
        return ""


def shares_of_ratio(sums: np.ndarray, total: float) -> np.ndarray:
    """One value per item whose mean is sum(sums) / total, as for a loss per token: each sum over the mean count per item."""
    return sums * (len(sums) / total)
