"""What every task gives the training loop."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tokenizers import Tokenizer

# Named tensors whose first axis is the example, so that any task's batch can be cut into parts.
Batch = dict[str, Tensor]
Forward = Callable[..., Tensor]
# What a target says of a token that is not asked about.
IGNORED = -100


class Task(ABC):
    """How examples become a batch, what is lost on it, and what is reported."""

    # The metric, lower being better, that decides which checkpoint is the best.
    criterion: ClassVar[str] = "loss"
    # The head that a model of this task has where its spec names none; empty means the usual one of the kind of model.
    head: ClassVar[str] = ""
    # Fields of the spec that only some tasks read (`of_task` in specs/spec.py), and that this one does.
    reads: ClassVar[tuple[str, ...]] = ()
    # What each document must have besides its text, and tokens that a tokenizer trained for this must have.
    columns: ClassVar[tuple[str, ...]] = ()
    specials: ClassVar[tuple[str, ...]] = ()
    # Whether the loss can be had without writing out what the model answers, where `projection` allows.
    projects: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def of(cls, spec: Spec) -> "Task":
        """The task of a spec."""

    @abstractmethod
    def fits(self, model: nn.Module, kind: str) -> None:
        """Raise SpecError where this cannot be asked of a model; `kind` is its word in the spec."""

    def draft(self, model: ModelSpec) -> ModelSpec:
        """The model spec with what the task asks of it, as far as that can be known before the data."""
        return model

    def know(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        """Learn what the data are written in, before the first batch."""
        return

    def complete(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        """The model spec with what follows from the data; raises where the data do not suffice."""
        return model

    def begin(self, model: nn.Module) -> None:
        """Tell a new model what it is to know of the training text beside its weights; for most, nothing."""
        return

    def cut(self, shard: Shard) -> int:
        """How many texts do not fit into the context, and so are read in part; where none is meant to, 0."""
        return 0

    @abstractmethod
    def examples(self, shard: Shard) -> int:
        """How many examples make one epoch."""

    @abstractmethod
    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        """These examples, on the CPU. Depends on nothing but the arguments; the seed is one for all, or one an example."""

    def lengths(self, shard: Shard) -> np.ndarray | None:
        """How long each example is, where batches should be of similar lengths; None where all are alike."""
        return None

    @abstractmethod
    def counts(self, batches: Batch) -> Tensor:
        """How many predictions each of several batches, along a first axis more, asks for."""

    def count(self, batch: Batch) -> int:
        """How many predictions the batch asks for: what its summed loss is divided by."""
        return int(self.counts({name: tensor[None] for name, tensor in batch.items()})[0])

    @abstractmethod
    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        """The sum of the losses of a batch, so that parts of a batch add up to the whole exactly."""

    @abstractmethod
    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        whole: bool,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, float]:
        """Metrics of a model on a split; `whole` asks for the full rule, without it a cheaper one may do."""

    @abstractmethod
    def tokens(self, batch: int) -> int:
        """Tokens in a batch of so many examples, for speeds and FLOPs."""

    @abstractmethod
    def blank(self, rows: int) -> Batch:
        """A batch of the largest shapes, without meaning, for predicting memory."""

    @abstractmethod
    def answers(self, rows: int, vocabulary: int) -> int:
        """How many numbers the model answers such a batch with."""

    @abstractmethod
    def evaluated(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        """Tokens that so many evaluations in training, and the ones at the end, will read."""
