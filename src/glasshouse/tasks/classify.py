"""Classify: which of several classes a text belongs to.

A batch holds whole texts, cut to the context and padded at the end to the longest of them; padding is hidden from the model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.classification import confusion, scores
from glasshouse.metrics.metric import ACCURACY, EXAMPLES, LOSS, MACRO_F1, MAJORITY, RECALL, Metrics
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, HeadSpec, ModelSpec, Spec
from glasshouse.tasks import class_weights
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Task
from glasshouse.tokenizers import Tokenizer

# Texts whose tokens are counted at once.
COUNTED = 1024


def padded(texts: Sequence[Sequence[int]], frame: tuple[list[int], list[int]], context: int) -> Batch:
    """Whole texts in their frame, cut to the context and padded at the end; an empty one is a single token 0."""
    before, after = frame
    room = context - len(before) - len(after)
    rows = [[*before, *text[:room], *after] or [0] for text in texts]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return {"tokens": tokens, "lengths": torch.tensor([len(row) for row in rows])}


class Classify(Task):
    """Cross-entropy of each text's class. The best checkpoint is the most accurate one.

    Class weights act on the loss that is trained on, and on nothing that is measured.
    """

    metrics = Metrics([ACCURACY, MAJORITY, MACRO_F1, LOSS, EXAMPLES, RECALL], headline=("accuracy",))
    criterion = "accuracy"
    quality = QualityCurves(ACCURACY.title, {"validation": "validation.accuracy"})
    report_sections = ("confusion",)
    head = "classifier"
    reads = ("training.class_weights",)
    columns = ("label",)

    def __init__(self, context: int, labels: tuple[str, ...] = (), weights: tuple[str, ...] = ()) -> None:
        self.context, self.labels = context, labels
        self.frame: tuple[list[int], list[int]] = ([], [])
        self.asked_weights = weights
        self.weights: Tensor | None = None  # (classes), known once the data are
        self.counted: tuple[Tensor, Tensor] | None = None  # for naive Bayes, likewise
        class_weights.read(weights)

    @classmethod
    def from_spec(cls, spec: Spec) -> "Classify":
        return cls(spec.data.context, weights=spec.training.class_weights)

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        if model.head.kind not in ("", self.head):
            return model
        classes = settings_of(ClassifierHead, model.head.own).classes or 2
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "classes": classes}))

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), ClassifierHead):
            raise SpecError(
                "model-does-not-fit-task",
                f"task='classify' asks for a class, which model.kind={kind!r} with this head does not give; choose "
                "model.kind=encoder, decoder or recurrent and model.head.kind=classifier",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.labels, self.frame = labels, tokenizer.frame

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        labels, head = prepared.labels, settings_of(ClassifierHead, model.head.own)
        if len(labels) < 2:
            raise DataError(
                "one-class",
                f"there is only one class in the data, {labels[0]!r}: nothing to tell apart; give rows of at least two",
            )
        if head.classes and head.classes != len(labels):
            raise SpecError(
                "wrong-class-count",
                f"model.head.classes={head.classes}, but the data have {len(labels)}: {', '.join(labels)}; leave it out",
            )
        self.set_vocabulary(prepared.tokenizer, labels)
        if not prepared.splits["train"].documents:
            raise DataError("no-rows", "there is no text to train on; give more rows, or hold out fewer")
        if head.naive_bayes:
            self.counted = self._count(prepared.splits["train"], prepared.tokenizer.vocabulary)
        if self.asked_weights:
            counts = np.bincount(prepared.splits["train"].labels, minlength=len(labels))
            self.weights = torch.from_numpy(class_weights.weigh(self.asked_weights, labels, counts)).float()
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "classes": len(labels)}))

    def initialise(self, model: nn.Module) -> None:
        if self.counted is not None and isinstance(model.head, ClassifierHead):
            model.head.set_counts(*self.counted)

    def _count(self, shard: Shard, vocabulary: int) -> tuple[Tensor, Tensor]:
        """How often each token (a row) stands in the texts of each class (a column), as far as they are read; and how many
        texts there are of each."""
        tokens_VC, texts_C = torch.zeros(vocabulary, len(self.labels)), torch.zeros(len(self.labels))
        for begin in range(0, shard.documents, COUNTED):
            examples = np.arange(begin, min(begin + COUNTED, shard.documents))
            batch = self.batch(shard, 0, examples * 0, examples)
            real_BT = torch.arange(batch["tokens"].shape[1]) < batch["lengths"][:, None]
            classes = batch["labels"][:, None].expand_as(real_BT)[real_BT]
            tokens_VC.index_put_((batch["tokens"][real_BT], classes), torch.ones(len(classes)), accumulate=True)
            texts_C += batch["labels"].bincount(minlength=len(self.labels))
        return tokens_VC, texts_C

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        texts = shard.texts(examples)
        labels = torch.from_numpy(np.asarray(shard.labels[examples], np.int64))
        batch = {**padded(texts, self.frame, self.context), "labels": labels}
        return batch if self.weights is None else {**batch, "weights": self.weights[labels]}

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["labels"]),), batches["labels"].shape[1])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], lengths=batch["lengths"])
        if "weights" in batch:
            return (F.cross_entropy(logits.float(), batch["labels"], reduction="none") * batch["weights"]).sum()
        return F.cross_entropy(logits.float(), batch["labels"], reduction="sum")

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        return {
            "tokens": torch.zeros(rows, self.context, dtype=torch.int64),
            "lengths": torch.full((rows,), self.context),
            "labels": torch.zeros(rows, dtype=torch.int64),
        }

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * len(self.labels)

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].documents * self.context for split in ("validation", "test"))
        return rounds * validation + validation + test

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        table = np.zeros((len(self.labels), len(self.labels)), np.int64)
        nats = 0.0
        for index, logits in self._read(model, shard, np.arange(shard.documents), settings.batch, forward):
            truth = np.asarray(shard.labels[index], np.int64)
            nats += float(F.cross_entropy(logits, torch.from_numpy(truth).to(logits.device), reduction="sum"))
            table += confusion(truth, logits.argmax(-1).cpu().numpy(), len(self.labels))
            progress((index[-1] + 1) / shard.documents)
        return {"loss": nats / shard.documents, **scores(table, self.labels)}

    def example_command(self, run: str, prompt: str) -> str:
        return f'glasshouse classify {run} "Thank you all."'

    def probabilities(self, model: nn.Module, shard: Shard, examples: np.ndarray, batch: int) -> np.ndarray:
        """The probability of every class (a column), for some examples of a split (a row each)."""
        found = [logits.softmax(-1).cpu().numpy() for _, logits in self._read(model, shard, examples, batch)]
        return np.concatenate(found) if found else np.zeros((0, len(self.labels)), np.float32)

    def _read(
        self, model: nn.Module, shard: Shard, examples: np.ndarray, batch: int, forward: Forward | None = None
    ) -> Iterator[tuple[np.ndarray, Tensor]]:
        """(examples, their logits), some at a time, of the model as it is when it does not train."""
        device, was_training, forward = next(model.parameters()).device, model.training, forward or model
        model.eval()
        try:
            for begin in range(0, len(examples), batch):
                index = examples[begin : begin + batch]
                texts = self.batch(shard, 0, index * 0, index)
                # Not around the yield, where it would still hold in whoever asks for the logits.
                with torch.inference_mode():
                    logits = forward(texts["tokens"].to(device), lengths=texts["lengths"].to(device)).float()
                yield index, logits
        finally:
            model.train(was_training)

    def truncated(self, shard: Shard) -> int:
        """How many texts are longer than the context, and so are read in part."""
        room = self.context - sum(map(len, self.frame))
        return int((np.diff(shard.starts) - (shard.mark is not None) > room).sum()) if shard.documents else 0
