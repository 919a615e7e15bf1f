"""Multi-label classification: predict which of several classes apply to a text; none, one or several may.

Axes: N texts, C classes.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics import label_counts
from glasshouse.metrics.metric import EXACT, EXAMPLES, F1, LOSS, MACRO_F1, MICRO_F1, Metrics
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, HeadSpec, ModelSpec, Spec
from glasshouse.tasks.base import Batch, Forward, QualityCurves
from glasshouse.tasks.classify import sorted_probabilities
from glasshouse.tasks.text_inputs import TextInputs, arguments
from glasshouse.tasks.whole_text_task import WholeTextTask
from glasshouse.tasks.wide_fit import WideFit

# A class is predicted if its probability is above this.
THRESHOLD = 0.5


class MultiLabel(WholeTextTask):
    """Binary cross-entropy of each class. The best checkpoint has the highest micro F1."""

    metrics = Metrics([MICRO_F1, MACRO_F1, EXACT, LOSS, EXAMPLES, F1], headline=("micro_f1", "exact"))
    criterion = "micro_f1"
    quality = QualityCurves(MICRO_F1.title, {"validation": "validation.micro_f1"})
    report_sections = ("labels", "words")
    head = "classifier"
    columns = ("labels",)
    item_metrics = ("exact", "loss")

    @classmethod
    def from_spec(cls, spec: Spec) -> "MultiLabel":
        return cls(TextInputs.from_spec(spec))

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        if model.head.kind not in ("", self.head):
            return model
        settings = settings_of(ClassifierHead, model.head.own)
        if settings.naive_bayes:
            raise SpecError(
                "needs one class for each text, but with task='multi-label' a text may have several; remove it",
                "model.head.naive_bayes",
                settings.naive_bayes,
            )
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "classes": settings.classes or 2}))

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), ClassifierHead):
            raise SpecError(
                f"needs predicted classes, which model.kind={kind!r} with this head does not provide; choose "
                "model.kind=encoder, decoder or recurrent and model.head.kind=classifier",
                "task",
                "multi-label",
            )

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        self.check_training_texts(prepared)
        if len(self.labels) < 2:
            raise DataError(
                f"the data have {len(self.labels)} classes; task='multi-label' needs at least two (join them by |: a|b)"
            )
        settings = settings_of(ClassifierHead, model.head.own)
        self.wide = WideFit(self.inputs, prepared, self.truth, exclusive=False) if settings.wide else None
        classes = settings.classes
        if classes not in (0, len(self.labels)):
            raise SpecError(
                f"model.head.classes={classes}, but the data have {len(self.labels)} classes ({', '.join(self.labels)}); "
                "remove model.head.classes"
            )
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "classes": len(self.labels)}))

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        labels = torch.from_numpy(self.truth(shard, examples)).float()
        batch = {**self.inputs.batch(shard, examples), "labels": labels}
        return batch if self.wide is None else self.wide.add_logits(batch, shard, examples)

    def truth(self, shard: Shard, examples: np.ndarray) -> np.ndarray:
        """Whether each class applies to each of some examples (N, C)."""
        truth_NC = np.zeros((len(examples), len(self.labels)), bool)
        truth_NC[shard.label_sets.of(examples)] = True
        return truth_NC

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["labels"]),), batches["labels"][0].numel())

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], **arguments(batch))
        if "wide_logits" in batch:
            logits = logits + batch["wide_logits"]
        return F.binary_cross_entropy_with_logits(logits.float(), batch["labels"], reduction="sum")

    def largest_batch(self, rows: int) -> Batch:
        return {**self.inputs.largest_batch(rows), "labels": torch.zeros(rows, len(self.labels))}

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * len(self.labels)

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        losses, truth_NC, predicted_NC = self._score_texts(model, shard, settings, progress, forward)
        counts = label_counts.of_sets(truth_NC, predicted_NC, self.labels)
        return {
            "micro_f1": float(counts.total().f1[0]),
            "macro_f1": counts.macro_f1(),
            "exact": float((truth_NC == predicted_NC).all(1).mean()),
            "loss": float(losses.mean()),
            "examples": float(shard.documents),
            **counts.f1_by_name(),
        }

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        losses, truth_NC, predicted_NC = self._score_texts(model, shard, settings, progress)
        return {"exact": (truth_NC == predicted_NC).all(1).astype(float), "loss": losses}

    def _score_texts(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None],
        forward: Forward | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The loss of each text, averaged over the classes; and the true and the predicted classes (N, C) of each text."""
        truth_NC, losses = self.truth(shard, np.arange(shard.documents)), np.zeros(shard.documents)
        predicted_NC = np.zeros_like(truth_NC)
        for index, logits in self.outputs(model, shard, np.arange(shard.documents), settings.batch, forward):
            targets = torch.from_numpy(truth_NC[index]).to(logits)
            losses[index] = F.binary_cross_entropy_with_logits(logits, targets, reduction="none").mean(1).cpu().numpy()
            predicted_NC[index] = (logits.sigmoid() > THRESHOLD).cpu().numpy()
            progress((index[-1] + 1) / shard.documents)
        return losses, truth_NC, predicted_NC

    def predicted(self, model: nn.Module, shard: Shard, examples: np.ndarray, batch: int) -> np.ndarray:
        """Whether each class is predicted for each of some examples (N, C)."""
        rows = [(logits.sigmoid() > THRESHOLD).cpu().numpy() for _, logits in self.outputs(model, shard, examples, batch)]
        return np.concatenate(rows) if rows else np.zeros((0, len(self.labels)), bool)

    def describe(self, output: Tensor) -> list[dict[str, Any]]:
        """{"labels": the classes that apply, "probabilities": of each class by itself}, the most probable first."""
        rows = [sorted_probabilities(self.labels, row) for row in output.sigmoid().tolist()]
        return [{"labels": [name for name in row if row[name] > THRESHOLD], "probabilities": row} for row in rows]
