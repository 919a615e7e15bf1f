"""Classify: which of several classes a text belongs to.

A batch holds whole texts, cut to the context and padded at the end to the longest of them; padding is hidden from the model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.preparing import Prepared
from glasshouse.data.shards import Shard
from glasshouse.metrics.classification import confusion, scores
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import Evaluation, Model, Spec
from glasshouse.tasks.base import Batch, Forward, Task
from glasshouse.tokenizers import Tokenizer


def padded(texts: Sequence[Sequence[int]], frame: tuple[list[int], list[int]], context: int) -> Batch:
    """Whole texts in their frame, cut to the context and padded at the end; an empty one is a single token 0."""
    before, after = frame
    room = context - len(before) - len(after)
    rows = [[*before, *text[:room], *after] or [0] for text in texts]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return {"tokens": tokens, "lengths": torch.tensor([len(row) for row in rows])}


class Classify(Task):
    """Cross-entropy of each text's class. The best checkpoint is that of the fewest errors."""

    criterion = "error"
    columns = ("label",)

    def __init__(self, context: int, labels: tuple[str, ...] = ()) -> None:
        self.context, self.labels = context, labels
        self.frame: tuple[list[int], list[int]] = ([], [])

    @classmethod
    def of(cls, spec: Spec) -> "Classify":
        return cls(spec.data.context)

    def draft(self, model: Model) -> Model:
        if model.head.kind not in ("", "classifier"):
            return model
        return replace(model, head=replace(model.head, kind="classifier", classes=model.head.classes or 2))

    def fits(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), ClassifierHead):
            raise SpecError(
                f"task='classify' asks for a class, which model.kind={kind!r} with this head does not give; choose "
                "model.kind=encoder, decoder or recurrent and model.head.kind=classifier"
            )

    def know(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.labels, self.frame = labels, tokenizer.frame

    def complete(self, model: Model, prepared: Prepared) -> Model:
        labels, told = prepared.labels, model.head.classes
        if len(labels) < 2:
            raise DataError(
                f"there is only one class in the data, {labels[0]!r}: nothing to tell apart; give rows of at least two"
            )
        if told and told != len(labels):
            raise SpecError(f"model.head.classes={told}, but the data have {len(labels)}: {', '.join(labels)}; leave it out")
        self.know(prepared.tokenizer, labels)
        if not prepared.splits["train"].documents:
            raise DataError("there is no text to train on; give more rows, or hold out fewer")
        return replace(self.draft(model), head=replace(self.draft(model).head, classes=len(labels)))

    def examples(self, shard: Shard) -> int:
        return shard.documents

    def batch(self, shard: Shard, seed: int, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        texts = [shard.document(int(index)).tolist() for index in examples]
        labels = np.asarray(shard.labels[examples], np.int64)
        return {**padded(texts, self.frame, self.context), "labels": torch.from_numpy(labels)}

    def count(self, batch: Batch) -> int:
        return len(batch["labels"])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], lengths=batch["lengths"])
        return F.cross_entropy(logits.float(), batch["labels"], reduction="sum")

    def tokens(self, batch: int) -> int:
        return batch * self.context

    def blank(self, rows: int) -> Batch:
        return {
            "tokens": torch.zeros(rows, self.context, dtype=torch.int64),
            "lengths": torch.full((rows,), self.context),
            "labels": torch.zeros(rows, dtype=torch.int64),
        }

    def answers(self, rows: int, vocabulary: int) -> int:
        return rows * len(self.labels)

    def evaluated(self, splits: Mapping[str, Shard], settings: Evaluation, rounds: int) -> int:
        validation, test = (splits[split].documents * self.context for split in ("validation", "test"))
        return rounds * validation + validation + test

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: Evaluation,
        whole: bool,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, float]:
        device = next(model.parameters()).device
        table = np.zeros((len(self.labels), len(self.labels)), np.int64)
        nats, was_training = 0.0, model.training
        model.eval()
        try:
            with torch.inference_mode():
                for begin in range(0, shard.documents, settings.batch):
                    index = np.arange(begin, min(begin + settings.batch, shard.documents))
                    batch = {name: value.to(device) for name, value in self.batch(shard, 0, index * 0, index).items()}
                    logits = model(batch["tokens"], lengths=batch["lengths"]).float()
                    nats += float(F.cross_entropy(logits, batch["labels"], reduction="sum"))
                    answers = logits.argmax(-1).cpu().numpy()
                    table += confusion(np.asarray(shard.labels[index], np.int64), answers, len(self.labels))
                    progress((index[-1] + 1) / shard.documents)
        finally:
            model.train(was_training)
        return {"loss": nats / shard.documents, **scores(table, self.labels)}

    def cut(self, shard: Shard) -> int:
        """How many texts are longer than the context, and so are read in part."""
        room = self.context - sum(map(len, self.frame))
        return int((np.diff(shard.starts) - (shard.mark is not None) > room).sum()) if shard.documents else 0
