"""Classification: predict which of several classes a text, or a pair of texts, belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.classification import confusion_matrix, scores
from glasshouse.metrics.metric import ACCURACY, EXAMPLES, LOSS, MACRO_F1, MAJORITY, RECALL, Metrics
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, HeadSpec, ModelSpec, Spec
from glasshouse.tasks import class_weights
from glasshouse.tasks.base import Batch, Forward, QualityCurves
from glasshouse.tasks.text_inputs import TextInputs, arguments
from glasshouse.tasks.whole_text_task import WholeTextTask
from glasshouse.tasks.wide_fit import WideFit

# Batch size for counting tokens.
COUNTING_BATCH = 1024
# What the final evaluation stores of each text besides its metrics: its class, the predicted class and its probability.
TRUTH, PREDICTION, PROBABILITY = "truth", "prediction", "probability"


def padded(texts: Sequence[Sequence[int]], prefix_and_suffix: tuple[list[int], list[int]], context: int) -> Batch:
    """Whole texts, truncated to the context and padded at the end with token 0.

    `prefix_and_suffix` are the tokens before and after each text. An empty text becomes a single token 0.
    """
    before, after = prefix_and_suffix
    max_length = context - len(before) - len(after)
    rows = [[*before, *text[:max_length], *after] or [0] for text in texts]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return {"tokens": tokens, "lengths": torch.tensor([len(row) for row in rows])}


def sorted_probabilities(labels: Sequence[str], probabilities: Sequence[float]) -> dict[str, float]:
    """The probability of each class, the most probable first."""
    return dict(sorted(zip(labels, probabilities, strict=True), key=lambda pair: -pair[1]))


class Classify(WholeTextTask):
    """Cross-entropy of each text's class. The best checkpoint has the highest accuracy.

    Class weights apply to the training loss and to no metric.
    """

    metrics = Metrics([ACCURACY, MAJORITY, MACRO_F1, LOSS, EXAMPLES, RECALL], headline=("accuracy",))
    criterion = "accuracy"
    quality = QualityCurves(ACCURACY.title, {"validation": "validation.accuracy"})
    report_sections = ("confusion", "words")
    head = "classifier"
    reads = ("training.class_weights", "training.group_by_length")
    columns = ("label",)
    item_metrics = ("accuracy", "loss")

    def __init__(self, inputs: TextInputs, weights: tuple[str, ...] = (), group_by_length: bool = False) -> None:
        super().__init__(inputs, group_by_length)
        self.weight_entries = weights
        self.weights: Tensor | None = None  # (classes); set by complete_model
        self.counts: tuple[Tensor, Tensor] | None = None  # for naive Bayes; set by complete_model
        class_weights.parse(weights)

    @classmethod
    def from_spec(cls, spec: Spec) -> "Classify":
        return cls(TextInputs.from_spec(spec), spec.training.class_weights, spec.training.group_by_length)

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        if model.head.kind not in ("", self.head):
            return model
        classes = settings_of(ClassifierHead, model.head.own).classes or 2
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "classes": classes}))

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), ClassifierHead):
            raise SpecError(
                f"needs a predicted class, which model.kind={kind!r} with this head does not provide; choose "
                "model.kind=encoder, decoder or recurrent and model.head.kind=classifier",
                "task",
                "classify",
            )

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        labels, head = prepared.labels, settings_of(ClassifierHead, model.head.own)
        if len(labels) < 2:
            raise DataError(
                f"every row has the class {labels[0]!r}, and one class cannot be learnt; add rows of other classes, or set "
                "the column with the labels: data.label=NAME"
            )
        if head.classes and head.classes != len(labels):
            raise SpecError(
                f"model.head.classes={head.classes}, but the data have {len(labels)} classes ({', '.join(labels)}); "
                "remove model.head.classes"
            )
        self.set_vocabulary(prepared.tokenizer, labels)
        self.check_training_texts(prepared)
        if head.naive_bayes:
            self.counts = self._count_tokens(prepared.splits["train"], prepared.tokenizer.vocabulary)
        if self.weight_entries:
            examples_per_class = np.bincount(prepared.splits["train"].labels, minlength=len(labels))
            self.weights = torch.from_numpy(class_weights.compute(self.weight_entries, labels, examples_per_class)).float()
        if head.wide:
            weights_C = None if self.weights is None else self.weights.numpy()
            self.wide = WideFit(self.inputs, prepared, self.truth, exclusive=True, weights_C=weights_C)
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "classes": len(labels)}))

    def initialise(self, model: nn.Module) -> None:
        super().initialise(model)
        if self.counts is not None and isinstance(model.head, ClassifierHead):
            model.head.set_counts(*self.counts)

    def truth(self, shard: Shard, examples: np.ndarray) -> np.ndarray:
        """Whether each class applies to each of some examples (N, C)."""
        return np.asarray(shard.labels[examples])[:, None] == np.arange(len(self.labels))

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

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        labels = torch.from_numpy(np.asarray(shard.labels[examples], np.int64))
        batch = {**self.inputs.batch(shard, examples), "labels": labels}
        if self.weights is not None:
            batch["weights"] = self.weights[labels]
        return batch if self.wide is None else self.wide.add_logits(batch, shard, examples)

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["labels"]),), batches["labels"].shape[1])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], **arguments(batch))
        if "wide_logits" in batch:
            logits = logits + batch["wide_logits"]
        if "weights" in batch:
            return (F.cross_entropy(logits.float(), batch["labels"], reduction="none") * batch["weights"]).sum()
        return F.cross_entropy(logits.float(), batch["labels"], reduction="sum")

    def largest_batch(self, rows: int) -> Batch:
        return {**self.inputs.largest_batch(rows), "labels": torch.zeros(rows, dtype=torch.int64)}

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
        return Classify.final_evaluation(self, model, shard, settings, progress, forward)[0]

    def final_evaluation(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        losses, predictions, probabilities = self._score_texts(model, shard, settings, progress, forward)
        truth = np.asarray(shard.labels, np.int64)
        table = confusion_matrix(truth, predictions, len(self.labels))
        values = {
            "accuracy": (predictions == truth).astype(float),
            "loss": losses,
            TRUTH: truth,
            PREDICTION: predictions,
            PROBABILITY: probabilities,
        }
        return {"loss": float(losses.mean()), **scores(table, self.labels)}, values

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        values = Classify.final_evaluation(self, model, shard, settings, progress)[1]
        return {name: values[name] for name in self.item_metrics}

    def _score_texts(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None],
        forward: Forward | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The loss in nats of each text, its predicted class, and the probability of that class."""
        losses, predictions = np.zeros(shard.documents), np.zeros(shard.documents, np.int64)
        probabilities = np.zeros(shard.documents)
        lengths, done = self.example_lengths(shard), 0
        order = np.arange(shard.documents) if lengths is None else lengths.argsort(kind="stable")
        for index, logits in self.outputs(model, shard, order, settings.batch, forward):
            truth = torch.from_numpy(np.asarray(shard.labels[index], np.int64)).to(logits.device)
            losses[index] = F.cross_entropy(logits, truth, reduction="none").cpu().numpy()
            predictions[index] = logits.argmax(-1).cpu().numpy()
            probabilities[index] = logits.softmax(-1).amax(-1).cpu().numpy()
            done += len(index)
            progress(done / shard.documents)
        return losses, predictions, probabilities

    def describe(self, output: Tensor) -> list[dict[str, Any]]:
        """{"label": the most probable class, "probabilities": of each class, the most probable first}."""
        rows = [sorted_probabilities(self.labels, row) for row in output.softmax(-1).tolist()]
        return [{"label": next(iter(row)), "probabilities": row} for row in rows]

    def probabilities(self, model: nn.Module, shard: Shard, examples: np.ndarray, batch: int) -> np.ndarray:
        """The class probabilities (examples, classes) of some examples of a split."""
        rows = [logits.softmax(-1).cpu().numpy() for _, logits in self.outputs(model, shard, examples, batch)]
        return np.concatenate(rows) if rows else np.zeros((0, len(self.labels)), np.float32)
