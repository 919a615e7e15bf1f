"""Tagging: predict a tag for each word of a text, such as its part of speech or the entity that it belongs to.

A word may have several tokens; its tag is predicted at the first. Words beyond the context are neither learned from nor
scored, and the number of truncated texts is reported.

Axes: N texts, L tokens of the longest text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import Seed
from glasshouse.data.document_columns import WordEncoder
from glasshouse.data.shards import Shard
from glasshouse.metrics import classification, metric
from glasshouse.metrics.classification import LabelCounts
from glasshouse.metrics.metric import Metrics
from glasshouse.models.base import Model
from glasshouse.models.heads.classifier import TaggerHead
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import IGNORED, Batch, Forward, Scoring, shares_of_ratio
from glasshouse.tasks.cross_entropy import cross_entropy_sum, target_losses
from glasshouse.tasks.text_inputs import GroupByLength, arguments
from glasshouse.tasks.whole_text_task import LabelTask, Prediction
from glasshouse.tokenizers import Tokenizer


@dataclass(frozen=True)
class TaggedWords:
    """The scored words of a split: the example, its true and predicted tag, and the loss of each word."""

    labels: tuple[str, ...]
    # The number of texts of the split.
    texts: int
    example: np.ndarray
    truth: np.ndarray
    prediction: np.ndarray
    loss: np.ndarray

    @property
    def right(self) -> np.ndarray:
        return self.truth == self.prediction

    @property
    def mark_entities(self) -> bool:
        return classification.mark_entities(self.labels)

    @cached_property
    def counts(self) -> LabelCounts:
        """The counts of each kind of entity, or of each tag if the tags mark no entities."""
        if not self.mark_entities:
            return classification.of_classes(self.truth, self.prediction, self.labels)
        return classification.of_entities(self.by_text(self.truth), self.by_text(self.prediction))

    def of_entities(self, score: str) -> float | None:
        """A score over all kinds of entities: f1, precision or recall. None if the tags mark no entities."""
        return float(getattr(self.counts.total(), score)[0]) if self.mark_entities else None

    def by_text(self, tags: np.ndarray) -> list[list[str]]:
        ends = np.flatnonzero(np.diff(self.example)) + 1
        return [[self.labels[tag] for tag in text] for text in np.split(tags, ends)]

    def by_item(self, values: np.ndarray) -> np.ndarray:
        """The part of each text in the mean of a value of each word."""
        return shares_of_ratio(np.bincount(self.example, values, self.texts), len(self.truth))


class Tag(LabelTask):
    """Cross-entropy of each word's tag. The best checkpoint has the highest F1 of entities, or else the highest accuracy."""

    metrics = Metrics(
        [
            metric.ENTITY_F1.of(lambda words: words.of_entities("f1")),
            metric.ENTITY_PRECISION.of(lambda words: words.of_entities("precision")),
            metric.ENTITY_RECALL.of(lambda words: words.of_entities("recall")),
            metric.ACCURACY.of(lambda words: words.right.mean(), lambda words: words.by_item(words.right)),
            metric.MAJORITY.of(lambda words: np.bincount(words.truth).max() / len(words.truth)),
            metric.MACRO_F1.of(lambda words: words.counts.macro_f1()),
            metric.LOSS.of(lambda words: words.loss.mean(), lambda words: words.by_item(words.loss)),
            metric.WORDS.of(lambda words: len(words.truth)),
            metric.F1.of(lambda words: words.counts.by_name(words.counts.f1)),
        ],
        headline=("entity_f1", "accuracy"),
    )
    criterion = "accuracy"
    report_sections = ("tags",)
    head, count_field = "tagger", "tags"
    heads = (TaggerHead,)
    needs = "a tag for each token; choose model.kind=encoder or recurrent and model.head.kind=tagger"
    Settings = GroupByLength
    columns = ("tags",)

    @classmethod
    def check_spec(cls, spec: Spec) -> None:
        if spec.data.second:
            raise SpecError("makes pairs of texts, but tags are of single texts; remove it", "data.second", spec.data.second)

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        super().set_vocabulary(tokenizer, labels)
        if classification.mark_entities(labels):
            self.criterion = "entity_f1"

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        batch = self.inputs.batch(shard, examples)
        rows, places, tags = self._scored_words(shard, examples)
        targets_NL = np.full(batch["tokens"].shape, IGNORED, np.int64)
        targets_NL[rows, places] = tags
        return {**batch, "targets": torch.from_numpy(targets_NL)}

    def answer(self, shard: Shard, example: int) -> tuple[str, ...]:
        return tuple(self.labels[tag] for tag in shard.tags[example])

    def _scored_words(self, shard: Shard, examples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(row, position of the first token, tag) of each word within the context."""
        rows, first_tokens = shard.first_tokens.of(examples)
        _, tags = shard.tags.of(examples)
        within = (first_tokens >= 0) & (first_tokens < self.inputs.max_length)
        return rows[within], first_tokens[within] + len(self.inputs.prefix_and_suffix[0]), tags[within]

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["tokens"], **arguments(batch))
        return cross_entropy_sum(logits.flatten(0, 1), batch["targets"].flatten())

    def largest_batch(self, rows: int) -> Batch:
        inputs = self.inputs.largest_batch(rows)
        return {**inputs, "targets": torch.zeros_like(inputs["tokens"])}

    def score(self, scoring: Scoring) -> TaggedWords:
        words = self.score_texts(scoring, scoring.examples)
        if not len(words["truth"]):
            raise DataError("no word of these texts is within the context; use a longer data.context")
        return TaggedWords(self.labels, scoring.shard.documents, **words)

    def score_batch(self, shard: Shard, examples: np.ndarray, output: Tensor) -> dict[str, np.ndarray]:
        rows, places, tags = self._scored_words(shard, examples)
        logits, truth = output[torch.from_numpy(rows), torch.from_numpy(places)], tags.astype(np.int64)
        losses = target_losses(logits, torch.from_numpy(truth).to(logits.device))
        return {
            "example": examples[rows],
            "truth": truth,
            "prediction": logits.argmax(-1).cpu().numpy(),
            "loss": losses.double().cpu().numpy(),
        }

    def predict(
        self, model: Model, tokenizer: Tokenizer, texts: Sequence[str], second: Sequence[str] | None, batch: int
    ) -> list[Prediction]:
        """{"words", "tags", "probabilities"} for each text. A word beyond the context has neither tag nor probability."""
        encoder, before, predictions = WordEncoder(tokenizer), len(self.inputs.prefix_and_suffix[0]), []
        for begin in range(0, len(texts), batch):
            words = [text.split() for text in texts[begin : begin + batch]]
            encoded = [encoder.encode(each) for each in words]
            described = self.describe(self.output_of(model, [ids.tolist() for ids, _ in encoded]))
            for each, (_, first_tokens), tokens in zip(words, encoded, described, strict=True):
                places = [before + first if 0 <= first < self.inputs.max_length else None for first in first_tokens]
                rows = {
                    name: [None if place is None else values[place] for place in places] for name, values in tokens.items()
                }
                predictions.append({"words": each, **rows})
        return predictions

    def describe(self, output: Tensor) -> list[Prediction]:
        probabilities, tags = output.softmax(-1).max(-1)
        names = [[self.labels[tag] for tag in text] for text in tags.tolist()]
        return [{"tags": text, "probabilities": row} for text, row in zip(names, probabilities.tolist(), strict=True)]
