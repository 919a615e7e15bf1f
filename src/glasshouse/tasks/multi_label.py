"""Multi-label classification: predict which of several classes apply to a text; none, one or several may.

Axes: N texts, C classes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.shards import Shard
from glasshouse.metrics import classification
from glasshouse.metrics.classification import LabelCounts
from glasshouse.metrics.metric import EXACT, EXAMPLES, F1, MACRO_F1, MEAN_LOSS, MICRO_F1, Metrics
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.tasks.base import Batch, Forward, Scoring
from glasshouse.tasks.classifier_task import ClassifierTask
from glasshouse.tasks.classify import sorted_probabilities
from glasshouse.tasks.whole_text_task import Prediction

# A class is predicted if its probability is above this.
THRESHOLD = 0.5


@dataclass(frozen=True)
class LabelSetScores:
    """The loss of each text, averaged over the classes; and the true and the predicted classes (N, C) of each text."""

    labels: tuple[str, ...]
    truth: np.ndarray
    predicted: np.ndarray
    loss: np.ndarray

    @cached_property
    def counts(self) -> LabelCounts:
        return classification.of_sets(self.truth, self.predicted, self.labels)


class MultiLabel(ClassifierTask):
    """Binary cross-entropy of each class. The best checkpoint has the highest micro F1."""

    metrics = Metrics(
        [
            MICRO_F1.of(lambda scores: scores.counts.total().f1[0]),
            MACRO_F1.of(lambda scores: scores.counts.macro_f1()),
            EXACT.mean_of(lambda scores: (scores.truth == scores.predicted).all(1).astype(float)),
            MEAN_LOSS,
            EXAMPLES,
            F1.of(lambda scores: scores.counts.by_name(scores.counts.f1)),
        ],
        headline=("micro_f1", "exact"),
    )
    criterion = "micro_f1"
    report_sections = ("labels", "words")
    exclusive = False
    needs = "classes; choose model.kind=encoder, decoder or recurrent and model.head.kind=classifier"
    few_labels = "add rows of others, joined by | in a row that has several: a|b"
    columns = ("labels",)

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        if weight := model.head.own.get("naive_bayes", 0):
            raise SpecError("needs one class for each text; remove it", "model.head.naive_bayes", weight)
        return super().draft_model(model)

    def label_tensors(self, shard: Shard, examples: np.ndarray) -> Batch:
        return {"labels": torch.from_numpy(self.truth(shard, examples)).float()}

    def truth(self, shard: Shard, examples: np.ndarray) -> np.ndarray:
        truth_NC = np.zeros((len(examples), len(self.labels)), bool)
        truth_NC[shard.label_sets.of(examples)] = True
        return truth_NC

    def answer(self, shard: Shard, example: int) -> tuple[str, ...]:
        return tuple(self.labels[index] for index in np.flatnonzero(self.truth(shard, np.array([example]))[0]))

    def probabilities(self, logits: Tensor) -> Tensor:
        """The classes do not exclude each other."""
        return logits.sigmoid()

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["labels"]),), batches["labels"][0].numel())

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits(model, batch), batch["labels"], reduction="sum")

    def largest_batch(self, rows: int) -> Batch:
        return {**self.inputs.largest_batch(rows), "labels": torch.zeros(rows, len(self.labels))}

    def score(self, scoring: Scoring) -> LabelSetScores:
        return LabelSetScores(self.labels, **self.score_texts(scoring, scoring.examples))

    def score_batch(self, shard: Shard, examples: np.ndarray, output: Tensor) -> dict[str, np.ndarray]:
        truth_NC = self.truth(shard, examples)
        losses = F.binary_cross_entropy_with_logits(output, torch.from_numpy(truth_NC).to(output), reduction="none")
        return {
            "truth": truth_NC,
            "predicted": (self.probabilities(output) > THRESHOLD).cpu().numpy(),
            "loss": losses.mean(1).double().cpu().numpy(),
        }

    def describe(self, output: Tensor) -> list[Prediction]:
        """{"labels": the classes that apply, "probabilities": of each class by itself}, the most probable first."""
        rows = [sorted_probabilities(self.labels, row) for row in self.probabilities(output).tolist()]
        return [{"labels": [name for name in row if row[name] > THRESHOLD], "probabilities": row} for row in rows]
