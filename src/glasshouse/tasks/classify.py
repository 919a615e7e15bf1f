"""Classification: predict which of several classes a text belongs to.

A batch holds whole texts, truncated to the context and padded at the end to the longest text. Padding is masked.
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
from glasshouse.metrics.classification import confusion_matrix, scores
from glasshouse.metrics.metric import ACCURACY, EXAMPLES, LOSS, MACRO_F1, MAJORITY, RECALL, Metrics
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.models.heads.wide_part import WidePart
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, HeadSpec, ModelSpec, Spec
from glasshouse.tasks import class_weights, padding, wide_fit
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Task
from glasshouse.tokenizers import Tokenizer

# Batch size for counting tokens.
COUNTING_BATCH = 1024


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


class Classify(Task):
    """Cross-entropy of each text's class. The best checkpoint has the highest accuracy.

    Class weights apply to the training loss and to no metric.
    """

    metrics = Metrics([ACCURACY, MAJORITY, MACRO_F1, LOSS, EXAMPLES, RECALL], headline=("accuracy",))
    criterion = "accuracy"
    quality = QualityCurves(ACCURACY.title, {"validation": "validation.accuracy"})
    report_sections = ("confusion",)
    head = "classifier"
    reads = ("training.class_weights",)
    columns = ("label",)
    item_metrics = ("accuracy", "loss")

    def __init__(self, context: int, labels: tuple[str, ...] = (), weights: tuple[str, ...] = ()) -> None:
        self.context, self.labels = context, labels
        self.prefix_and_suffix: tuple[list[int], list[int]] = ([], [])
        self.weight_entries = weights
        self.weights: Tensor | None = None  # (classes); set by complete_model
        self.counts: tuple[Tensor, Tensor] | None = None  # for naive Bayes; set by complete_model
        self.splits: Mapping[str, Shard] = {}  # set by complete_model
        self.token_bytes: list[bytes] = []  # set by complete_model
        # Of the wide part, set by initialise: its tensors, and its cross-fitted logits of the training texts.
        self.wide_tensors: dict[str, Tensor] | None = None
        self.wide_logits: Tensor | None = None
        class_weights.parse(weights)

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
                f"task='classify' needs a predicted class, which model.kind={kind!r} with this head does not provide; "
                "choose model.kind=encoder, decoder or recurrent and model.head.kind=classifier",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.labels, self.prefix_and_suffix = labels, tokenizer.prefix_and_suffix

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        labels, head = prepared.labels, settings_of(ClassifierHead, model.head.own)
        if len(labels) < 2:
            raise DataError(
                "one-class",
                f"the data have only one class, {labels[0]!r}; a classifier needs rows of at least two classes",
            )
        if head.classes and head.classes != len(labels):
            raise SpecError(
                "wrong-class-count",
                f"model.head.classes={head.classes}, but the data have {len(labels)} classes ({', '.join(labels)}); "
                "remove model.head.classes",
            )
        self.set_vocabulary(prepared.tokenizer, labels)
        if head.wide:
            self.splits, tokenizer = prepared.splits, prepared.tokenizer
            self.token_bytes = [tokenizer.token_bytes(token) for token in range(tokenizer.vocabulary)]
        if not prepared.splits["train"].documents:
            raise DataError("no-rows", "the training split has no texts; use more rows, or hold out fewer")
        if head.naive_bayes:
            self.counts = self._count_tokens(prepared.splits["train"], prepared.tokenizer.vocabulary)
        if self.weight_entries:
            examples_per_class = np.bincount(prepared.splits["train"].labels, minlength=len(labels))
            self.weights = torch.from_numpy(class_weights.compute(self.weight_entries, labels, examples_per_class)).float()
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "classes": len(labels)}))

    def initialise(self, model: nn.Module) -> None:
        if not isinstance(model.head, ClassifierHead):
            return
        if self.counts is not None:
            model.head.set_counts(*self.counts)
        if model.head.wide is not None:
            self._set_wide_part(model.head.wide)

    def _set_wide_part(self, wide: WidePart) -> None:
        """Fit the wide part. Models of the same job share one fit."""
        if self.wide_tensors is None:
            wide.set_token_bytes(self.token_bytes)
            train, validation = (self.splits[split] for split in ("train", "validation"))
            batch_of = lambda shard, examples: self.batch(shard, 0, examples * 0, examples)  # noqa: E731
            self.wide_logits = wide_fit.fit(wide, batch_of, train, validation)
            self.wide_tensors = {name: tensor.clone() for name, tensor in wide.state_dict().items()}
        wide.load_state_dict(self.wide_tensors)

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

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        before, after = (padding.repeated(tokens, len(examples)) for tokens in self.prefix_and_suffix)
        max_length = self.context - sum(map(len, self.prefix_and_suffix))
        rows = padding.joined(before, padding.texts_of(shard, examples, max_length), after)
        # A batch of empty texts has one column.
        tokens_NL = rows.tokens_NL if rows.tokens_NL.size else np.zeros((len(examples), 1), np.int64)
        labels = torch.from_numpy(np.asarray(shard.labels[examples], np.int64))
        batch = {
            "tokens": torch.from_numpy(tokens_NL),
            "lengths": torch.from_numpy(rows.lengths_N.clip(min=1)),
            "labels": labels,
        }
        if self.weights is not None:
            batch["weights"] = self.weights[labels]
        if self.wide_logits is not None and shard is self.splits["train"]:
            batch["wide_logits"] = self.wide_logits[torch.from_numpy(examples)]
        return batch

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["labels"]),), batches["labels"].shape[1])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], lengths=batch["lengths"])
        if "wide_logits" in batch:
            logits = logits + batch["wide_logits"]
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
        losses, predictions = self._score_texts(model, shard, settings, progress, forward)
        table = confusion_matrix(np.asarray(shard.labels, np.int64), predictions, len(self.labels))
        return {"loss": float(losses.mean()), **scores(table, self.labels)}

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        losses, predictions = self._score_texts(model, shard, settings, progress)
        return {"accuracy": (predictions == np.asarray(shard.labels)).astype(float), "loss": losses}

    def _score_texts(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None],
        forward: Forward | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The loss in nats and the predicted class of each text."""
        losses, predictions = np.zeros(shard.documents), np.zeros(shard.documents, np.int64)
        for index, logits in self._logits(model, shard, np.arange(shard.documents), settings.batch, forward):
            truth = torch.from_numpy(np.asarray(shard.labels[index], np.int64)).to(logits.device)
            losses[index] = F.cross_entropy(logits, truth, reduction="none").cpu().numpy()
            predictions[index] = logits.argmax(-1).cpu().numpy()
            progress((index[-1] + 1) / shard.documents)
        return losses, predictions

    def example_command(self, run: str, prompt: str) -> str:
        return f'glasshouse classify {run} "Thank you all."'

    def probabilities(self, model: nn.Module, shard: Shard, examples: np.ndarray, batch: int) -> np.ndarray:
        """The class probabilities (examples, classes) of some examples of a split."""
        rows = [logits.softmax(-1).cpu().numpy() for _, logits in self._logits(model, shard, examples, batch)]
        return np.concatenate(rows) if rows else np.zeros((0, len(self.labels)), np.float32)

    def _logits(
        self, model: nn.Module, shard: Shard, examples: np.ndarray, batch: int, forward: Forward | None = None
    ) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Batches of (examples, logits), computed in evaluation mode."""
        device, was_training, forward = next(model.parameters()).device, model.training, forward or model
        model.eval()
        try:
            for begin in range(0, len(examples), batch):
                index = examples[begin : begin + batch]
                texts = self.batch(shard, 0, index * 0, index)
                # Around the yield, inference mode would stay on in the caller.
                with torch.inference_mode():
                    logits = forward(texts["tokens"].to(device), lengths=texts["lengths"].to(device)).float()
                yield index, logits
        finally:
            model.train(was_training)

    def truncated(self, shard: Shard) -> int:
        max_length = self.context - sum(map(len, self.prefix_and_suffix))
        return int((np.diff(shard.starts) - (shard.separator is not None) > max_length).sum()) if shard.documents else 0
