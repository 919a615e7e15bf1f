"""Tagging: predict a tag for each word of a text, such as its part of speech or the entity that it belongs to.

A word may have several tokens; its tag is predicted at the first. Words beyond the context are neither learned from nor
scored, and the number of truncated texts is reported.

Axes: N texts, L tokens of the longest text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics import entities, label_counts
from glasshouse.metrics.label_counts import LabelCounts
from glasshouse.metrics.metric import (
    ACCURACY,
    ENTITY_F1,
    ENTITY_PRECISION,
    ENTITY_RECALL,
    F1,
    LOSS,
    MACRO_F1,
    MAJORITY,
    WORDS,
    Metrics,
)
from glasshouse.models.heads.tagger import TaggerHead
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, HeadSpec, ModelSpec, Spec
from glasshouse.tasks.base import IGNORED, Batch, Forward, QualityCurves, shares_of_ratio
from glasshouse.tasks.cross_entropy import cross_entropy_sum, target_losses
from glasshouse.tasks.text_inputs import TextInputs, arguments
from glasshouse.tasks.whole_text_task import WholeTextTask
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.word_encoder import WordEncoder


@dataclass(frozen=True)
class TaggedWords:
    """The scored words of some examples: the example, its true and predicted tag, and the loss of each word."""

    example: np.ndarray
    truth: np.ndarray
    predictions: np.ndarray
    losses: np.ndarray

    def by_text(self, tags: np.ndarray, names: Sequence[str]) -> list[list[str]]:
        """The names of these tags, a list for each text that has scored words."""
        ends = np.flatnonzero(np.diff(self.example)) + 1
        return [[names[tag] for tag in text] for text in np.split(tags, ends)]


class Tag(WholeTextTask):
    """Cross-entropy of each word's tag. The best checkpoint has the highest F1 of entities, or else the highest accuracy."""

    metrics = Metrics(
        [ENTITY_F1, ENTITY_PRECISION, ENTITY_RECALL, ACCURACY, MAJORITY, MACRO_F1, LOSS, WORDS, F1],
        headline=("entity_f1", "accuracy"),
    )
    criterion = "accuracy"
    quality = QualityCurves(ACCURACY.title, {"validation": "validation.accuracy"})
    report_sections = ("tags",)
    head = "tagger"
    reads = ("training.group_by_length",)
    columns = ("tags",)
    item_metrics = ("accuracy", "loss")

    def __init__(self, inputs: TextInputs, group_by_length: bool = False) -> None:
        super().__init__(inputs, group_by_length)
        self.entities = False

    @classmethod
    def from_spec(cls, spec: Spec) -> "Tag":
        if spec.data.second:
            raise SpecError(
                "makes pairs of texts, and task='tag' reads single texts; remove data.second",
                "data.second",
                spec.data.second,
            )
        return cls(TextInputs.from_spec(spec), spec.training.group_by_length)

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        if model.head.kind not in ("", self.head):
            return model
        tags = settings_of(TaggerHead, model.head.own).tags or 2
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "tags": tags}))

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), TaggerHead):
            raise SpecError(
                f"needs a tag for each token, which model.kind={kind!r} with this head does not provide; choose "
                "model.kind=encoder or recurrent and model.head.kind=tagger",
                "task",
                "tag",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        super().set_vocabulary(tokenizer, labels)
        self.entities = entities.mark_entities(labels)
        if self.entities:
            self.criterion = "entity_f1"
            self.quality = QualityCurves(ENTITY_F1.title, {"validation": "validation.entity_f1"})

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        self.check_training_texts(prepared)
        if len(self.labels) < 2:
            raise DataError(f"the data have {len(self.labels)} tags; a tagger needs at least two different tags")
        tags = settings_of(TaggerHead, model.head.own).tags
        if tags not in (0, len(self.labels)):
            raise SpecError(
                f"model.head.tags={tags}, but the data have {len(self.labels)} tags ({', '.join(self.labels)}); "
                "remove model.head.tags"
            )
        return replace(model, head=HeadSpec(self.head, {**model.head.own, "tags": len(self.labels)}))

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        batch = self.inputs.batch(shard, examples)
        rows, places, tags = self._scored_words(shard, examples)
        targets_NL = np.full(batch["tokens"].shape, IGNORED, np.int64)
        targets_NL[rows, places] = tags
        return {**batch, "targets": torch.from_numpy(targets_NL)}

    def _scored_words(self, shard: Shard, examples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(row, position of the first token, tag) of each word within the context."""
        rows, first_tokens = shard.first_tokens.of(examples)
        _, tags = shard.tags.of(examples)
        within = (first_tokens >= 0) & (first_tokens < self.inputs.max_length)
        return rows[within], first_tokens[within] + len(self.inputs.prefix_and_suffix[0]), tags[within]

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return (batches["targets"] != IGNORED).flatten(1).sum(1).clamp(min=1)

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], **arguments(batch))
        return cross_entropy_sum(logits.flatten(0, 1), batch["targets"].flatten())

    def largest_batch(self, rows: int) -> Batch:
        inputs = self.inputs.largest_batch(rows)
        return {**inputs, "targets": torch.zeros_like(inputs["tokens"])}

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * self.inputs.context * len(self.labels)

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        words = self.tagged_words(model, shard, np.arange(shard.documents), settings.batch, progress, forward)
        if not len(words.truth):
            raise DataError("no word of these texts is within the context; use a longer data.context")
        counts = self.counts(words)
        metrics = {
            "accuracy": float((words.truth == words.predictions).mean()),
            "majority": float(np.bincount(words.truth).max() / len(words.truth)),
            "macro_f1": counts.macro_f1(),
            "loss": float(words.losses.mean()),
            "words": float(len(words.truth)),
            **counts.f1_by_name(),
        }
        if not self.entities:
            return metrics
        total = counts.total()
        scores = {"f1": total.f1, "precision": total.precision, "recall": total.recall}
        return {**{f"entity_{name}": float(score[0]) for name, score in scores.items()}, **metrics}

    def counts(self, words: TaggedWords) -> LabelCounts:
        """The counts of each kind of entity, or of each tag if the tags mark no entities."""
        if not self.entities:
            return label_counts.of_tags(words.truth, words.predictions, self.labels)
        return entities.count(*(words.by_text(tags, self.labels) for tags in (words.truth, words.predictions)))

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        words = self.tagged_words(model, shard, np.arange(shard.documents), settings.batch, progress)
        values = {"accuracy": (words.truth == words.predictions).astype(float), "loss": words.losses}
        sums = {name: np.bincount(words.example, each, shard.documents) for name, each in values.items()}
        return {name: shares_of_ratio(each, len(words.truth)) for name, each in sums.items()}

    def tagged_words(
        self,
        model: nn.Module,
        shard: Shard,
        examples: np.ndarray,
        batch: int,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> TaggedWords:
        """The scored words of some examples of a split."""
        parts = [(np.zeros(0, np.int64),) * 3 + (np.zeros(0),)]
        for index, logits_NLC in self.outputs(model, shard, examples, batch, forward):
            rows, places, tags = self._scored_words(shard, index)
            logits = logits_NLC[torch.from_numpy(rows), torch.from_numpy(places)]
            targets = torch.from_numpy(tags.astype(np.int64)).to(logits.device)
            losses = target_losses(logits, targets).cpu().numpy()
            parts.append((index[rows], tags.astype(np.int64), logits.argmax(-1).cpu().numpy(), losses))
            progress((index[-1] + 1) / shard.documents)
        return TaggedWords(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def predict(
        self, model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], second: Sequence[str] | None, batch: int
    ) -> list[dict[str, Any]]:
        """{"words", "tags", "probabilities"} for each text. A word beyond the context has neither tag nor probability."""
        encoder, device = WordEncoder(tokenizer), next(model.parameters()).device
        predictions = []
        for begin in range(0, len(texts), batch):
            words = [text.split() for text in texts[begin : begin + batch]]
            encoded = [encoder.encode(each) for each in words]
            inputs = {name: t.to(device) for name, t in self.inputs.batch_of([ids.tolist() for ids, _ in encoded]).items()}
            output = model(inputs["tokens"], **arguments(inputs)).float()
            for row, (each, (_, first_tokens)) in enumerate(zip(words, encoded, strict=True)):
                predictions.append(self._describe_words(each, first_tokens, output[row]))
        return predictions

    def _describe_words(self, words: list[str], first_tokens: list[int], logits_LC: Tensor) -> dict[str, Any]:
        before = len(self.inputs.prefix_and_suffix[0])
        known = [0 <= first < self.inputs.max_length for first in first_tokens]
        chosen = self.describe(
            logits_LC[[before + first for first, within in zip(first_tokens, known, strict=True) if within]]
        )
        described = iter(chosen)
        rows = [next(described) if within else {"tag": None, "probability": None} for within in known]
        return {
            "words": words,
            "tags": [row["tag"] for row in rows],
            "probabilities": [row["probability"] for row in rows],
        }

    def describe(self, output: Tensor) -> list[dict[str, Any]]:
        """{"tag", "probability"} of each word."""
        probabilities, tags = output.softmax(-1).max(-1)
        pairs = zip(tags.tolist(), probabilities.tolist(), strict=True)
        return [{"tag": self.labels[tag], "probability": probability} for tag, probability in pairs]
