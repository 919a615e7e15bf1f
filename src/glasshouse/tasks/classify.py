"""Classification: predict which of several classes a text, or a pair of texts, belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.classification import ACCURACY, EXAMPLES, MACRO_F1, MAJORITY, RECALL, PredictedClasses
from glasshouse.metrics.metric import LOSS, Metrics
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.tasks import class_weights
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Scoring
from glasshouse.tasks.text_inputs import TextInputs, arguments
from glasshouse.tasks.whole_text_task import LabelTask, Prediction
from glasshouse.tasks.wide_fit import WideFit

# Batch size for counting tokens.
COUNTING_BATCH = 1024
# What a run stores of each text besides its metrics: its class, the predicted class and its probability.
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


@dataclass(frozen=True)
class ClassScores(PredictedClasses):
    """The classes of each text, the probability of the predicted one, and the loss in nats."""

    probability: np.ndarray
    loss: np.ndarray


class Classify(LabelTask):
    """Cross-entropy of each text's class. The best checkpoint has the highest accuracy.

    Class weights apply to the training loss and to no metric.
    """

    metrics = Metrics(
        [ACCURACY, MAJORITY, MACRO_F1, LOSS.mean_of(lambda scores: scores.loss), EXAMPLES, RECALL], headline=("accuracy",)
    )
    recorded = (TRUTH, PREDICTION, PROBABILITY)
    criterion = "accuracy"
    quality = QualityCurves(ACCURACY.title, {"validation": "validation.accuracy"})
    report_sections = ("confusion", "words")
    head = "classifier"
    heads = (ClassifierHead,)
    needs = "a class; choose model.kind=encoder, decoder or recurrent and model.head.kind=classifier"
    reads = ("training.class_weights", "training.group_by_length")
    columns = ("label",)

    def __init__(self, inputs: TextInputs, weights: tuple[str, ...] = (), group_by_length: bool = False) -> None:
        super().__init__(inputs, group_by_length)
        self.weight_entries = weights
        self.weights: Tensor | None = None  # (classes); set by complete_model
        self.counts: tuple[Tensor, Tensor] | None = None  # for naive Bayes; set by complete_model
        class_weights.parse(weights)

    @classmethod
    def from_spec(cls, spec: Spec) -> "Classify":
        return cls(TextInputs.from_spec(spec), spec.training.class_weights, spec.training.group_by_length)

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        model, train = super().complete_model(model, prepared), prepared.splits["train"]
        head = settings_of(ClassifierHead, model.head.own)
        if head.naive_bayes:
            self.counts = self._count_tokens(train, prepared.tokenizer.vocabulary)
        if self.weight_entries:
            examples_per_class = np.bincount(train.labels, minlength=len(self.labels))
            weights = class_weights.compute(self.weight_entries, self.labels, examples_per_class)
            self.weights = torch.from_numpy(weights).float()
        if head.wide:
            weights_C = None if self.weights is None else self.weights.numpy()
            self.wide = WideFit(self.inputs, prepared, self.truth, exclusive=True, weights_C=weights_C)
        return model

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

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], **arguments(batch))
        if "wide_logits" in batch:
            logits = logits + batch["wide_logits"]
        if "weights" in batch:
            return (F.cross_entropy(logits.float(), batch["labels"], reduction="none") * batch["weights"]).sum()
        return F.cross_entropy(logits.float(), batch["labels"], reduction="sum")

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
        rows = [sorted_probabilities(self.labels, row) for row in output.softmax(-1).tolist()]
        return [{"label": next(iter(row)), "probabilities": row} for row in rows]
