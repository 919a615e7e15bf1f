"""Fitting the wide part of a classifier to the training texts: inverse document frequencies, then weights.

The network learns in the presence of the wide part. On the texts that it was fitted to, the wide part is far more often
right than on others. So a training text gets the logits of a model that was fitted without it (cross-fitting).

Axes: B batch, F n-grams of a text, N texts, K buckets, C classes.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.models.heads.wide_part import WidePart
from glasshouse.records import progress_bar
from glasshouse.tasks import linear_classifier
from glasshouse.tasks.base import Batch
from glasshouse.tasks.linear_classifier import LabelledRows
from glasshouse.tasks.text_inputs import TextInputs

# Tokens of a batch, which bound its memory.
BATCH_TOKENS = 8192
# A fit reads at most this many texts of a split, evenly spaced, which bounds its time and memory.
MAX_TEXTS = 20_000
# An n-gram in fewer training texts has no weight: it could only say which text it is from.
LEAST_TEXTS = 2


class WideFit:
    """The wide part of a task's models. The first model has it fitted; the others get the same tensors.

    `truth(shard, examples)` tells which classes apply to some texts (N, C). `exclusive`: exactly one does. `weights_C` are
    the weights of the classes in the training loss.
    """

    def __init__(
        self,
        inputs: TextInputs,
        prepared: PreparedData,
        truth: Callable[[Shard, np.ndarray], np.ndarray],
        exclusive: bool,
        weights_C: np.ndarray | None = None,
    ) -> None:
        self.inputs, self.prepared, self.truth, self.exclusive = inputs, prepared, truth, exclusive
        self.weights_C = weights_C
        self.tensors: dict[str, Tensor] | None = None
        self.logits_NC: Tensor | None = None

    def note(self) -> str:
        texts = len(_sample(self.prepared.splits["train"]))
        return (
            f"the wide part of the head, a linear model over n-grams, is fitted to {texts:,} texts before the first step; "
            "its weights are not counted as parameters, nor its time in a prediction"
        )

    def set(self, wide: WidePart) -> None:
        """Set the tensors of a model's wide part."""
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
        texts = max(BATCH_TOKENS // self.inputs.context, 1)
        for begin in range(0, len(examples), texts):
            yield (chosen := examples[begin : begin + texts]), self.inputs.batch(shard, chosen)

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
        """The features and the classes of some texts of a split."""
        from scipy.sparse import csr_matrix, vstack

        columns = len(wide.weight_KC)
        features: list[Any] = [csr_matrix(np.zeros((0, columns), np.float32))]
        for _, batch in self._batches(shard, examples):
            buckets_BF, values_BF, _ = wide.features(batch["tokens"], batch["lengths"])
            texts, _ = (used := values_BF > 0).nonzero(as_tuple=True)
            entries = values_BF[used].numpy(), (texts.numpy(), buckets_BF[used].numpy())
            features.append(csr_matrix(entries, shape=(len(buckets_BF), columns)))
        truth_NC = self.truth(shard, examples).astype(float)
        weights_N = np.ones(len(examples)) if self.weights_C is None else truth_NC @ self.weights_C
        return LabelledRows(vstack(features, format="csr"), truth_NC, weights_N, self.exclusive)


def _sample(shard: Shard) -> np.ndarray:
    return np.arange(0, shard.documents, max(-(-shard.documents // MAX_TEXTS), 1))
