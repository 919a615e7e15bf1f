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

from glasshouse.data.shards import Shard
from glasshouse.models.heads.wide_part import WidePart
from glasshouse.records import progress_bar
from glasshouse.tasks import ngram_regression
from glasshouse.tasks.base import Batch
from glasshouse.tasks.ngram_regression import LabelledRows

BatchOf = Callable[[Shard, np.ndarray], Batch]

# Texts of a batch.
BATCH = 256
# A fit reads at most this many texts of a split, evenly spaced, which bounds its time and memory.
MAX_TEXTS = 20_000
# An n-gram in fewer training texts has no weight: it could only say which text it is from.
LEAST_TEXTS = 2


def fit(wide: WidePart, batch_of: BatchOf, train: Shard, validation: Shard) -> Tensor:
    """Set idf, weights and biases of the wide part. Returns its cross-fitted logits (N, C) for the training texts.

    The validation texts choose the strength of the penalty.
    """
    sample = _sample(train)
    wide.idf_K.copy_(_inverse_document_frequencies(wide, batch_of, train, sample))
    rows, held_out = _rows(wide, batch_of, train, sample), _rows(wide, batch_of, validation, _sample(validation))
    with progress_bar.bar("fitting the wide part") as bar:
        model, out_of_fold_NC = ngram_regression.fit(rows, held_out, len(wide.bias_C), bar)
    wide.weight_KC.copy_(torch.from_numpy(model.weights_KC))
    wide.bias_C.copy_(torch.from_numpy(model.biases_C))
    logits_NC = torch.zeros(train.documents, len(wide.bias_C))
    if len(sample) < train.documents:
        for examples, batch in _batches(batch_of, train, np.arange(train.documents)):
            logits_NC[examples] = wide(batch["tokens"], batch["lengths"])
    logits_NC[sample] = torch.from_numpy(out_of_fold_NC).float()
    return logits_NC


def _sample(shard: Shard) -> np.ndarray:
    return np.arange(0, shard.documents, max(-(-shard.documents // MAX_TEXTS), 1))


def _batches(batch_of: BatchOf, shard: Shard, examples: np.ndarray) -> Iterator[tuple[np.ndarray, Batch]]:
    for begin in range(0, len(examples), BATCH):
        yield (chosen := examples[begin : begin + BATCH]), batch_of(shard, chosen)


def _inverse_document_frequencies(wide: WidePart, batch_of: BatchOf, shard: Shard, examples: np.ndarray) -> Tensor:
    """ln((1 + texts) / (1 + texts with the n-gram)) + 1, and 0 for rare n-grams."""
    texts_K = torch.zeros(wide.buckets)
    wide.idf_K.fill_(1.0)
    for _, batch in _batches(batch_of, shard, examples):
        buckets_BF, values_BF, _ = wide.features(batch["tokens"], batch["lengths"])
        texts_BF = torch.arange(len(buckets_BF))[:, None].expand_as(buckets_BF)
        present = torch.unique((texts_BF * wide.buckets + buckets_BF)[values_BF > 0])
        texts_K += torch.bincount(present % wide.buckets, minlength=wide.buckets)
    idf_K = ((1 + len(examples)) / (1 + texts_K)).log() + 1
    return idf_K.masked_fill(texts_K < LEAST_TEXTS, 0.0)


def _rows(wide: WidePart, batch_of: BatchOf, shard: Shard, examples: np.ndarray) -> LabelledRows:
    """The TF-IDF weights and the classes of some texts of a split."""
    from scipy.sparse import csr_matrix, vstack

    features: list[Any] = [csr_matrix(np.zeros((0, wide.buckets), np.float32))]
    labels = [np.zeros(0, np.int64)]
    for _, batch in _batches(batch_of, shard, examples):
        buckets_BF, values_BF, _ = wide.features(batch["tokens"], batch["lengths"])
        texts, _ = (used := values_BF > 0).nonzero(as_tuple=True)
        entries = values_BF[used].numpy(), (texts.numpy(), buckets_BF[used].numpy())
        features.append(csr_matrix(entries, shape=(len(buckets_BF), wide.buckets)))
        labels.append(batch["labels"].numpy())
    return LabelledRows(vstack(features, format="csr"), np.concatenate(labels))
