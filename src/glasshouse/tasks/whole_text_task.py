"""The base class of tasks whose examples are whole texts or pairs of texts: classification, regression, tagging."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import EvaluationSpec
from glasshouse.tasks import padding
from glasshouse.tasks.base import Forward, Task
from glasshouse.tasks.text_inputs import TextInputs, arguments
from glasshouse.tasks.wide_fit import WideFit
from glasshouse.tokenizers import Tokenizer


class WholeTextTask(Task):
    """Every document of a split is an example, and the model reads it in one piece."""

    needs_text = True

    def __init__(self, inputs: TextInputs, group_by_length: bool = False) -> None:
        self.inputs, self.group_by_length = inputs, group_by_length
        self.labels: tuple[str, ...] = ()
        self.wide: WideFit | None = None  # set by complete_model
        if inputs.paired:
            self.columns = (*self.columns, "second")

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.labels = labels
        self.inputs.set_tokenizer(tokenizer)

    def initialise(self, model: nn.Module) -> None:
        """Set the wide part of a classifier, if it has one."""
        wide = getattr(model.head, "wide", None)
        if self.wide is not None and wide is not None:
            self.wide.set(wide)

    def notes(self) -> tuple[str, ...]:
        return () if self.wide is None else (self.wide.note(),)

    def for_timing(self) -> "WholeTextTask":
        task = copy(self)
        task.wide = None
        return task

    def check_training_texts(self, prepared: PreparedData) -> None:
        """Refuse data without training texts."""
        if not prepared.splits["train"].documents:
            raise DataError("the training split has no texts; use more rows, or hold out fewer")

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        return padding.lengths_of(shard, np.arange(shard.documents)) if self.group_by_length else None

    def truncated(self, shard: Shard) -> int:
        return self.inputs.truncated(shard)

    def batch_tokens(self, batch: int) -> int:
        return batch * self.inputs.context

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].documents * self.inputs.context for split in ("validation", "test"))
        return rounds * validation + validation + test

    def outputs(
        self, model: nn.Module, shard: Shard, examples: np.ndarray, batch: int, forward: Forward | None = None
    ) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Batches of (examples, the model's output for them in float32), computed in evaluation mode."""
        device, was_training, forward = next(model.parameters()).device, model.training, forward or model
        model.eval()
        try:
            for begin in range(0, len(examples), batch):
                index = examples[begin : begin + batch]
                texts = {name: tensor.to(device) for name, tensor in self.inputs.batch(shard, index).items()}
                # Around the yield, inference mode would stay on in the caller.
                with torch.inference_mode():
                    output = forward(texts["tokens"], **arguments(texts)).float()
                yield index, output
        finally:
            model.train(was_training)

    def predict(
        self, model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], second: Sequence[str] | None, batch: int
    ) -> list[dict[str, Any]]:
        """For each text, or pair of texts, what the model predicts, under names that fit the task."""
        device = next(model.parameters()).device
        encoded = [tokenizer.encode_batch(given, specials=False) for given in (texts, second) if given is not None]
        predictions = []
        for begin in range(0, len(texts), batch):
            rows = [[ids.tolist() for ids in given[begin : begin + batch]] for given in encoded]
            inputs = {name: tensor.to(device) for name, tensor in self.inputs.batch_of(*rows).items()}
            output = model(inputs["tokens"], **arguments(inputs)).float()
            if bool(output.isnan().any()):
                raise DataError(
                    "the outputs of this model are NaN for one of these texts, so they say nothing: its weights are too "
                    "large; use another model"
                )
            predictions += self.describe(output)
        return predictions

    def for_pairs(self, tokenizer: Tokenizer) -> "WholeTextTask":
        """The same task for pairs of texts; itself if it reads pairs."""
        if self.inputs.paired:
            return self
        task = copy(self)
        task.inputs = TextInputs(self.inputs.context, paired=True, segments=self.inputs.segments)
        task.inputs.set_tokenizer(tokenizer)
        return task

    @abstractmethod
    def describe(self, output: Tensor) -> list[dict[str, Any]]:
        """The predictions of a batch, from the model's output."""

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse classify {run} {text}" + (f" --second {second}" if self.inputs.paired else "")
