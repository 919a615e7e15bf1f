"""The base class of tasks whose examples are whole texts or pairs of texts: classification, regression, tagging."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.models.base import Model
from glasshouse.specs.declared import read_settings
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import HeadSpec, ModelSpec, Spec
from glasshouse.tasks.base import Scoring, Task
from glasshouse.tasks.text_inputs import GroupByLength, TextInputs, arguments, lengths_of
from glasshouse.tokenizers import Tokenizer

# What a model predicts of a text, under names that fit the task.
Prediction = dict[str, Any]


class WholeTextTask(Task):
    """Every document of a split is an example, and the model reads it in one piece."""

    needs_text = True
    use = "classify {run} {text}"
    # The standard deviation of the training numbers of a regression.
    deviation: float | None = None

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.inputs = TextInputs(self.context, bool(spec.data.second), int(spec.model.own.get("segments", 0)) > 1)
        self.group_by_length = read_settings(GroupByLength, spec.training.own).group_by_length
        if self.inputs.paired:
            self.columns = (*self.columns, "second")

    @abstractmethod
    def answer(self, shard: Shard, example: int) -> float | tuple[str, ...]:
        """The true number of a text, or its true classes or tags."""

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.labels = labels
        self.inputs.set_tokenizer(tokenizer)

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        return lengths_of(shard, np.arange(shard.documents)) if self.group_by_length else None

    def truncated(self, shard: Shard) -> int:
        return self.inputs.truncated(shard)

    def score_texts(self, scoring: Scoring, examples: np.ndarray) -> dict[str, np.ndarray]:
        """The arrays of `score_batch`, with a row for each of these examples."""
        rows = []
        for index in scoring.batches(examples):
            texts = scoring.on_device(self.inputs.batch(scoring.shard, index))
            output = scoring.forward(texts["tokens"], **arguments(texts)).float()
            rows.append(self.score_batch(scoring.shard, index, output))
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    @abstractmethod
    def score_batch(self, shard: Shard, examples: np.ndarray, output: Tensor) -> dict[str, np.ndarray]:
        """Named arrays of the scores of some examples, from the model's output for them in float32."""

    def predict(
        self, model: Model, tokenizer: Tokenizer, texts: Sequence[str], second: Sequence[str] | None, batch: int
    ) -> list[Prediction]:
        encoded = [tokenizer.encode_batch(given, specials=False) for given in (texts, second) if given is not None]
        predictions = []
        for begin in range(0, len(texts), batch):
            rows = [[ids.tolist() for ids in given[begin : begin + batch]] for given in encoded]
            predictions += self.describe(self.output_of(model, *rows))
        return predictions

    def output_of(self, model: Model, *texts: list[list[int]]) -> Tensor:
        device = next(model.parameters()).device
        inputs = {name: tensor.to(device) for name, tensor in self.inputs.batch_of(*texts).items()}
        output = model(inputs["tokens"], **arguments(inputs)).float()
        if bool(output.isnan().any()):
            raise DataError("the outputs of this model are NaN for one of these texts; use another model")
        return output

    def for_pairs(self, tokenizer: Tokenizer) -> "WholeTextTask":
        """The same task for pairs of texts; itself if it reads pairs."""
        if self.inputs.paired:
            return self
        task = copy(self)
        task.inputs = TextInputs(self.inputs.context, paired=True, segments=self.inputs.segments)
        task.inputs.set_tokenizer(tokenizer)
        return task

    def with_head(self, model: ModelSpec, **own: float) -> ModelSpec:
        """The model with the head of the task, some of whose fields follow from the data."""
        return replace(model, head=HeadSpec(self.head, own={**model.head.own, **own}))

    @abstractmethod
    def describe(self, output: Tensor) -> list[Prediction]:
        """The predictions of a batch, from the model's output."""

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return super().example_command(run, text) + (f" --second {second}" if self.inputs.paired else "")


class LabelTask(WholeTextTask):
    """A task whose head has an output for each class or tag of the data."""

    # The field of the head that holds their number.
    count_field: ClassVar[str] = "classes"
    # The remedy for data with fewer than two.
    few_labels: ClassVar[str] = "add rows of others, or set the column with the labels: data.label=NAME"

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        if model.head.kind not in ("", self.head):
            return model
        return self.with_head(model, **{self.count_field: model.head.own.get(self.count_field, 0) or 2})

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        name, found = self.count_field, len(prepared.labels)
        listing = ", ".join(prepared.labels)
        if found < 2:
            raise DataError(f"the data have {found} {name} ({listing}), fewer than two; {self.few_labels}")
        if (count := model.head.own.get(name, 0)) not in (0, found):
            raise SpecError(f"but the data have {found} {name} ({listing}); remove it", f"model.head.{name}", count)
        return self.with_head(super().complete_model(model, prepared), **{name: found})
