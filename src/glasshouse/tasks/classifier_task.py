"""The base class of tasks with a classifier, and the fit of its wide part to the training texts: inverse document
frequencies, then weights.

The network learns in the presence of the wide part. On the texts that it was fitted to, the wide part is far more often
right than on others. So a training text gets the logits of a model that was fitted without it (cross-fitting).

Axes: B batch, F n-grams of a text, N texts, K buckets, C classes.
"""

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.models.base import Model
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.models.heads.wide_part import WidePart
from glasshouse.records import progress_bar
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec
from glasshouse.tasks import linear_classifier
from glasshouse.tasks.base import Batch, Forward
from glasshouse.tasks.linear_classifier import LabelledRows
from glasshouse.tasks.text_inputs import arguments
from glasshouse.tasks.whole_text_task import LabelTask

# Tokens of a batch, which bound its memory.
BATCH_TOKENS = 8192
# A fit reads at most this many texts of a split, evenly spaced, which bounds its time and memory.
MAX_TEXTS = 20_000
# An n-gram in fewer training texts has no weight: it could only say which text it is from.
LEAST_TEXTS = 2


class WideFit:
    """The wide part of a task's models. The first model has it fitted; the others get the same tensors."""

    def __init__(self, task: "ClassifierTask", prepared: PreparedData) -> None:
        self.task, self.prepared = task, prepared
        self.tensors: dict[str, Tensor] | None = None
        self.logits_NC: Tensor | None = None

    def note(self) -> str:
        texts = len(_sample(self.prepared.splits["train"]))
        fitted = f"the wide part of the head, a linear model over n-grams, is first fitted to {texts:,} texts"
        return f"{fitted}; its weights are not counted as parameters, nor its time in a prediction"

    def set(self, wide: WidePart) -> None:
        if self.tensors is None:
            tokenizer = self.prepared.tokenizer
            wide.set_token_bytes([tokenizer.token_bytes(token) for token in range(tokenizer.vocabulary)])
            self.logits_NC = self._fit(wide)
            self.tensors = {name: tensor.clone() for name, tensor in wide.state_dict().items()}
        wide.load_state_dict(self.tensors)

    def add_logits(self, batch: Batch, shard: Shard, examples: np.ndarray) -> Batch:
        """A batch of training texts with their cross-fitted logits; any other batch as it is."""
        if self.logits_NC is None or shard is not self.prepared.splits["train"]:
            return batch
        return {**batch, "wide_logits": self.logits_NC[torch.from_numpy(examples)]}

    def _fit(self, wide: WidePart) -> Tensor:
        """Set idf, weights and biases. Returns the cross-fitted logits (N, C) of the training texts."""
        train, validation = (self.prepared.splits[split] for split in ("train", "validation"))
        sample = _sample(train)
        wide.idf_K.copy_(self._inverse_document_frequencies(wide, train, sample))
        rows, held_out = self._rows(wide, train, sample), self._rows(wide, validation, _sample(validation))
        with progress_bar.bar("fitting the wide part") as bar:
            model, out_of_fold_NC = linear_classifier.fit(rows, held_out, bar)
        wide.weight_KC.copy_(torch.from_numpy(model.weights_KC))
        wide.bias_C.copy_(torch.from_numpy(model.biases_C))
        logits_NC = torch.zeros(train.documents, len(wide.bias_C))
        if len(sample) < train.documents:
            for examples, batch in self._batches(train, np.arange(train.documents)):
                logits_NC[examples] = wide(batch["tokens"], batch["lengths"])
        logits_NC[sample] = torch.from_numpy(out_of_fold_NC).float()
        return logits_NC

    def _batches(self, shard: Shard, examples: np.ndarray) -> Iterator[tuple[np.ndarray, Batch]]:
        texts = max(BATCH_TOKENS // self.task.inputs.context, 1)
        for begin in range(0, len(examples), texts):
            yield (chosen := examples[begin : begin + texts]), self.task.inputs.batch(shard, chosen)

    def _inverse_document_frequencies(self, wide: WidePart, shard: Shard, examples: np.ndarray) -> Tensor:
        """ln((1 + texts) / (1 + texts with the n-gram)) + 1, and 0 for rare n-grams."""
        texts_K = torch.zeros(wide.buckets)
        wide.idf_K.fill_(1.0)
        for _, batch in self._batches(shard, examples):
            buckets_BF, values_BF, _ = wide.features(batch["tokens"], batch["lengths"])
            texts_BF = torch.arange(len(buckets_BF))[:, None].expand_as(buckets_BF)
            weighted = (values_BF > 0) & (buckets_BF < wide.buckets)
            present = torch.unique((texts_BF * wide.buckets + buckets_BF)[weighted])
            texts_K += torch.bincount(present % wide.buckets, minlength=wide.buckets)
        idf_K = ((1 + len(examples)) / (1 + texts_K)).log() + 1
        return idf_K.masked_fill(texts_K < LEAST_TEXTS, 0.0)

    def _rows(self, wide: WidePart, shard: Shard, examples: np.ndarray) -> LabelledRows:
        from scipy.sparse import csr_matrix, vstack

        columns = len(wide.weight_KC)
        features: list[Any] = [csr_matrix(np.zeros((0, columns), np.float32))]
        for _, batch in self._batches(shard, examples):
            buckets_BF, values_BF, _ = wide.features(batch["tokens"], batch["lengths"])
            texts, _ = (used := values_BF > 0).nonzero(as_tuple=True)
            entries = values_BF[used].numpy(), (texts.numpy(), buckets_BF[used].numpy())
            features.append(csr_matrix(entries, shape=(len(buckets_BF), columns)))
        truth_NC, weights = self.task.truth(shard, examples).astype(float), self.task.weights
        weights_N = np.ones(len(examples)) if weights is None else truth_NC @ weights.numpy()
        return LabelledRows(vstack(features, format="csr"), truth_NC, weights_N, self.task.exclusive)


def _sample(shard: Shard) -> np.ndarray:
    return np.arange(0, shard.documents, max(-(-shard.documents // MAX_TEXTS), 1))


class ClassifierTask(LabelTask):
    """A task of a classifier. Either exactly one class applies to each text, or any number of them do."""

    head = "classifier"
    heads = (ClassifierHead,)
    exclusive: ClassVar[bool] = True
    # The weights of the classes in the training loss, if they differ.
    weights: Tensor | None = None
    # Set by `complete_model`, if the head has a wide part.
    wide: WideFit | None = None

    @abstractmethod
    def truth(self, shard: Shard, examples: np.ndarray) -> np.ndarray:
        """Whether each class applies to each of some examples (N, C)."""

    @abstractmethod
    def label_tensors(self, shard: Shard, examples: np.ndarray) -> Batch:
        """The labels of a batch, with what else its loss needs."""

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        model = super().complete_model(model, prepared)
        if settings_of(ClassifierHead, model.head.own).wide:
            self.wide = WideFit(self, prepared)
        return model

    def initialise(self, model: Model) -> None:
        if self.wide is not None and model.head.wide is not None:
            self.wide.set(model.head.wide)

    def notes(self) -> tuple[str, ...]:
        return () if self.wide is None else (self.wide.note(),)

    def for_timing(self) -> "ClassifierTask":
        task = copy(self)
        task.wide = None
        return task

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        batch = {**self.inputs.batch(shard, examples), **self.label_tensors(shard, examples)}
        return batch if self.wide is None else self.wide.add_logits(batch, shard, examples)

    def logits(self, model: Forward, batch: Batch) -> Tensor:
        """The logits (N, C) in training, in float32: those of the network plus those of a wide part."""
        logits = model(batch["tokens"], **arguments(batch))
        return (logits + batch["wide_logits"] if "wide_logits" in batch else logits).float()
