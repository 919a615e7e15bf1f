"""The base class of tasks in which a model writes a text: a translation, or the caption of a picture.

Evaluations during training compute the loss with teacher forcing. The final one also writes texts by beam search.

Axes: N texts, L tokens of the longest text.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import Seed
from glasshouse.data.shards import Shard
from glasshouse.generation.beam_search import BeamOptions, Hypothesis, search
from glasshouse.metrics.metric import LOSS, PERPLEXITY, Metrics, per_token
from glasshouse.metrics.translation import BLEU, CHRF, EXACT, TRANSLATED, WrittenTexts
from glasshouse.models.base import Model
from glasshouse.specs.declared import read_settings
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import EvaluationSpec, Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks.base import (
    IGNORED,
    Batch,
    Forward,
    LabelSmoothing,
    QualityCurves,
    Scoring,
    Task,
    evaluation_mode,
    no_progress,
    shares_of_ratio,
)
from glasshouse.tasks.cross_entropy import cross_entropy_sum, target_losses
from glasshouse.tasks.text_inputs import Rows, joined, lengths_of, texts_of
from glasshouse.tokenizers import Tokenizer


@dataclass(frozen=True)
class WrittenTextScores(WrittenTexts):
    """Texts with their references; and for each text the loss of its reference in nats, and its number of predictions."""

    nats: np.ndarray
    counts: np.ndarray

    @property
    def predictions(self) -> float:
        return max(self.counts.sum(), 1)

    @property
    def loss(self) -> float:
        return float(self.nats.sum() / self.predictions)


class WrittenTextTask(Task):
    """Cross-entropy of each token of the text. Label smoothing applies in training only."""

    metrics = Metrics(
        [
            BLEU,
            CHRF,
            EXACT,
            per_token(PERPLEXITY),
            per_token(LOSS).of(lambda scores: scores.loss, lambda scores: shares_of_ratio(scores.nats, scores.predictions)),
            TRANSLATED,
        ],
        headline=("bleu", "chrf", "exact", "loss"),
    )
    # The training loss is not in the chart: with label smoothing its exponential is not a perplexity.
    quality = QualityCurves(PERPLEXITY.title, {"validation": "validation.loss"}, exponential=True)
    items = "pairs"
    Settings = LabelSmoothing
    loss_on_all = False

    @dataclass(frozen=True)
    class EvaluationSettings:
        beams: int = setting(1, "beam size in the final evaluation; 1 is greedy decoding", minimum=1)
        length_penalty: float = setting(
            1.0, "beams are ranked by log-probability / length ** length_penalty", minimum=0, maximum=100
        )

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.smoothing, self.end = read_settings(LabelSmoothing, spec.training.own).label_smoothing, 0

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        if tokenizer.end_of_text is None:
            raise DataError("this tokenizer has no <|endoftext|>, which ends a text; leave out data.tokenizer_file")
        self.tokenizer, self.end = tokenizer, tokenizer.end_of_text

    @abstractmethod
    def example_lengths(self, shard: Shard) -> np.ndarray:
        """A sort key, by which texts of similar length share a batch."""

    @abstractmethod
    def logits(self, model: Forward, batch: Batch) -> Tensor:
        """The model's predictions of `batch["targets"]`."""

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return cross_entropy_sum(self.logits(model, batch).flatten(0, 1), batch["targets"].flatten(), self.smoothing)

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].documents * self.context for split in ("validation", "test"))
        return rounds * validation + (1 + self.beam_options(settings).count) * (validation + test)

    def score(self, scoring: Scoring) -> WrittenTextScores:
        shard = scoring.shard
        nats, counts = np.zeros(shard.documents), np.zeros(shard.documents)
        for index in scoring.batches(np.argsort(self.example_lengths(shard), kind="stable"), no_progress):
            batch = scoring.on_device(self.text_batch(shard, index))
            losses = target_losses(self.logits(scoring.forward, batch).flatten(0, 1), batch["targets"].flatten())
            nats[index] = losses.view(batch["targets"].shape).double().sum(1).cpu().numpy()
            counts[index] = (batch["targets"] != IGNORED).sum(1).cpu().numpy()
        if not scoring.final:
            return WrittenTextScores(None, (), nats, counts)
        return WrittenTextScores(self.write(scoring), self.references(shard), nats, counts)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        return self.text_batch(shard, examples, self.loss_on_all)

    def text_batch(self, shard: Shard, examples: np.ndarray, loss_on_all: bool = False) -> Batch:
        """A batch whose targets are the tokens of the texts, or with `loss_on_all` those of their prompts too.

        The end of a truncated text is not a target, so that the model does not learn to stop there.
        """
        split, (prompts, conditions) = self.written_split(shard), self.prompts_and_conditions(shard, examples)
        texts = texts_of(split, examples, self.max_length)
        inputs = joined(*prompts, texts)
        targets_NL = np.full_like(inputs.tokens_NL, IGNORED)
        targets_NL[:, :-1] = np.where(inputs.is_token_NL, inputs.tokens_NL, IGNORED)[:, 1:]
        (complete,) = (lengths_of(split, examples) <= self.max_length).nonzero()
        targets_NL[complete, inputs.lengths_N[complete] - 1] = self.end
        if not loss_on_all:
            prompt_lengths_N = inputs.lengths_N - texts.lengths_N
            targets_NL[np.arange(targets_NL.shape[1]) < prompt_lengths_N[:, None] - 1] = IGNORED
        return {"inputs": torch.from_numpy(inputs.tokens_NL), "targets": torch.from_numpy(targets_NL), **conditions}

    @abstractmethod
    def prompts_and_conditions(self, shard: Shard, examples: np.ndarray) -> tuple[tuple[Rows, ...], Batch]:
        """The tokens before each text, and what else the model reads."""

    def written_split(self, shard: Shard) -> Shard:
        """The split that holds the texts to write."""
        return shard

    def truncated(self, shard: Shard) -> int:
        return int((lengths_of(shard, np.arange(shard.documents)) > self.max_length).sum())

    def write(self, scoring: Scoring) -> list[str]:
        options, texts = self.beam_options(scoring.settings), dict[int, str]()
        for index in scoring.batches(self.writing_order(scoring.shard, scoring.examples)):
            found = self.search_batch(scoring.model, scoring.shard, index, options)
            texts |= zip(index.tolist(), map(self.best_text, found), strict=True)
        return [texts[index] for index in scoring.examples.tolist()]

    def beam_options(self, settings: EvaluationSpec) -> BeamOptions:
        own = read_settings(WrittenTextTask.EvaluationSettings, settings.own)
        return BeamOptions(own.beams, own.length_penalty, self.max_length)

    def written(self, model: Model, shard: Shard, examples: np.ndarray, settings: EvaluationSpec) -> list[str]:
        with evaluation_mode(model):
            return self.write(Scoring(model, shard, settings, True, no_progress, model, examples))

    def best_text(self, hypotheses: Sequence[Hypothesis]) -> str:
        return self.tokenizer.decode(hypotheses[0].tokens) if hypotheses else ""

    @property
    def max_length(self) -> int:
        """The maximum length of a text in tokens, without special tokens."""
        return self.context - 1

    def writing_order(self, shard: Shard, examples: np.ndarray) -> np.ndarray:
        """The order in which texts are written, so that a batch needs little padding."""
        return examples

    @abstractmethod
    def search_batch(self, model: Model, shard: Shard, examples: np.ndarray, options: BeamOptions) -> list[list[Hypothesis]]:
        """The best texts for each of some examples, best first."""

    def search_from(self, model: Any, prompts: list[list[int]], options: BeamOptions) -> list[list[Hypothesis]]:
        return search(model, prompts, options, (self.end,), self.context, self.tokenizer.vocabulary)

    @abstractmethod
    def references(self, shard: Shard) -> Sequence[str]:
        """The reference texts of a split."""
