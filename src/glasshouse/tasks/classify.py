"""Classification: predict which of several classes a text, or a pair of texts, belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.classification import ACCURACY, EXAMPLES, MACRO_F1, MAJORITY, RECALL, PredictedClasses
from glasshouse.metrics.metric import MEAN_LOSS, Metrics
from glasshouse.models.base import Model
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.specs.declared import read_settings, settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks.base import Batch, Forward, Scoring
from glasshouse.tasks.classifier_task import ClassifierTask
from glasshouse.tasks.text_inputs import GroupByLength
from glasshouse.tasks.whole_text_task import Prediction

BALANCED = "balanced"
# Batch size for counting tokens.
COUNTING_BATCH = 1024
# What a run stores of each text besides its metrics: its class, the predicted class and its probability.
TRUTH, PREDICTION, PROBABILITY = "truth", "prediction", "probability"


def sorted_probabilities(labels: Sequence[str], probabilities: Sequence[float]) -> dict[str, float]:
    """The probability of each class, the most probable first."""
    return dict(sorted(zip(labels, probabilities, strict=True), key=lambda pair: -pair[1]))


def parse_class_weights(entries: Sequence[str]) -> dict[str, float]:
    """The weight of each class that `training.class_weights` names; empty for balanced weights."""
    if list(entries) == [BALANCED]:
        return {}
    weights: dict[str, float] = {}
    for entry in entries:
        name, equals, number = entry.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not equals or not 0 <= weight < float("inf"):
            raise SpecError(f"training.class_weights has {entry!r}; write [balanced], or a weight of 0 or more: [name=2]")
        if name in weights:
            raise SpecError(f"training.class_weights has two weights for {name!r}; write only one")
        weights[name] = weight
    return weights


def class_weights(entries: Sequence[str], labels: Sequence[str], counts: np.ndarray) -> np.ndarray:
    """The weight of each class; `counts` holds the number of its training examples.

    Their mean over the training examples is one, so that one learning rate suits training with and without weights. With
    balanced weights, every class that occurs has the same total weight. Otherwise a class has its weight in `entries`, or 1.
    """
    named = parse_class_weights(entries)
    if unknown := [name for name in named if name not in labels]:
        raise DataError(f"training.class_weights names {unknown[0]!r}, which is no class; choose among: {', '.join(labels)}")
    if list(entries) == [BALANCED]:
        weights = np.divide(1.0, counts, out=np.zeros(len(labels)), where=counts > 0)
    else:
        weights = np.array([named.get(name, 1.0) for name in labels])
    total = float((weights * counts).sum())
    if not total:
        raise DataError("training.class_weights is 0 for every class that occurs; give at least one a weight above 0")
    return weights * counts.sum() / total


@dataclass(frozen=True)
class ClassScores(PredictedClasses):
    """The classes of each text, the probability of the predicted one, and the loss in nats."""

    probability: np.ndarray
    loss: np.ndarray


class Classify(ClassifierTask):
    """Cross-entropy of each text's class. Class weights apply to the training loss and to no metric."""

    metrics = Metrics([ACCURACY, MAJORITY, MACRO_F1, MEAN_LOSS, EXAMPLES, RECALL], headline=("accuracy",))
    recorded = (TRUTH, PREDICTION, PROBABILITY)
    criterion = "accuracy"
    report_sections = ("confusion", "words")
    needs = "a class; choose model.kind=encoder, decoder or recurrent and model.head.kind=classifier"
    columns = ("label",)

    @dataclass(frozen=True)
    class Settings(GroupByLength):
        class_weights: tuple[str, ...] = setting((), "weights of the classes in the loss: [balanced], or [name=2]")

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.weight_entries = read_settings(Classify.Settings, spec.training.own).class_weights
        self.counts: tuple[Tensor, Tensor] | None = None  # for naive Bayes; set by complete_model

    @classmethod
    def check_spec(cls, spec: Spec) -> None:
        parse_class_weights(read_settings(Classify.Settings, spec.training.own).class_weights)

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        model, train = super().complete_model(model, prepared), prepared.splits["train"]
        if settings_of(ClassifierHead, model.head.own).naive_bayes:
            self.counts = self._count_tokens(train, prepared.tokenizer.vocabulary)
        if self.weight_entries:
            examples_per_class = np.bincount(train.labels, minlength=len(self.labels))
            weights = class_weights(self.weight_entries, self.labels, examples_per_class)
            self.weights = torch.from_numpy(weights).float()
        return model

    def initialise(self, model: Model) -> None:
        super().initialise(model)
        if self.counts is not None:
            cast(ClassifierHead, model.head).set_counts(*self.counts)

    def truth(self, shard: Shard, examples: np.ndarray) -> np.ndarray:
        return np.asarray(shard.labels[examples])[:, None] == np.arange(len(self.labels))

    def answer(self, shard: Shard, example: int) -> tuple[str, ...]:
        return (self.labels[shard.labels[example]],)

    def _count_tokens(self, shard: Shard, vocabulary: int) -> tuple[Tensor, Tensor]:
        """The occurrences of each token in the truncated texts of each class (V, C), and the texts of each class (C)."""
        tokens_VC, texts_C = torch.zeros(vocabulary, len(self.labels)), torch.zeros(len(self.labels))
        for begin in range(0, shard.documents, COUNTING_BATCH):
            examples = np.arange(begin, min(begin + COUNTING_BATCH, shard.documents))
            batch = self.batch(shard, 0, examples * 0, examples)
            real_BT = torch.arange(batch["tokens"].shape[1]) < batch["lengths"][:, None]
            classes = batch["labels"][:, None].expand_as(real_BT)[real_BT]
            tokens_VC.index_put_((batch["tokens"][real_BT], classes), torch.ones(len(classes)), accumulate=True)
            texts_C += batch["labels"].bincount(minlength=len(self.labels))
        return tokens_VC, texts_C

    def label_tensors(self, shard: Shard, examples: np.ndarray) -> Batch:
        labels = torch.from_numpy(np.asarray(shard.labels[examples], np.int64))
        return {"labels": labels} if self.weights is None else {"labels": labels, "weights": self.weights[labels]}

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = self.logits(model, batch)
        if "weights" in batch:
            return (F.cross_entropy(logits, batch["labels"], reduction="none") * batch["weights"]).sum()
        return F.cross_entropy(logits, batch["labels"], reduction="sum")

    def largest_batch(self, rows: int) -> Batch:
        return {**self.inputs.largest_batch(rows), "labels": torch.zeros(rows, dtype=torch.int64)}

    def score(self, scoring: Scoring) -> ClassScores:
        shard, lengths = scoring.shard, self.example_lengths(scoring.shard)
        order = np.arange(shard.documents) if lengths is None else lengths.argsort(kind="stable")
        in_order, place = self.score_texts(scoring, order), order.argsort()
        return ClassScores(self.labels, **{name: array[place] for name, array in in_order.items()})

    def score_batch(self, shard: Shard, examples: np.ndarray, output: Tensor) -> dict[str, np.ndarray]:
        truth = torch.from_numpy(np.asarray(shard.labels[examples], np.int64))
        return {
            "truth": truth.numpy(),
            "prediction": output.argmax(-1).cpu().numpy(),
            "probability": output.softmax(-1).amax(-1).double().cpu().numpy(),
            "loss": F.cross_entropy(output, truth.to(output.device), reduction="none").double().cpu().numpy(),
        }

    def describe(self, output: Tensor) -> list[Prediction]:
        """{"label": the most probable class, "probabilities": of each class, the most probable first}."""
        rows = [sorted_probabilities(self.labels, row) for row in self.probabilities(output).tolist()]
        return [{"label": next(iter(row)), "probabilities": row} for row in rows]
