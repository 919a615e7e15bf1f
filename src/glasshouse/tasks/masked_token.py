"""Masked-token prediction: some tokens of a text are hidden, and the model predicts them (Devlin et al., BERT, 2019).

A share MASKING_RATE of the tokens is selected. A share MASK_SHARE of the selected tokens becomes the mask token, a share
RANDOM_SHARE becomes a random token, and the rest stays unchanged, so that the model cannot conclude from an unmasked token
that it will not be predicted. The selection is a function of seed, epoch, window and position. The separator tokens between
documents are never selected.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.batches import Seed, hash64
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import ACCURACY, LOSS, PERPLEXITY, TOKENS, Metrics, per_token
from glasshouse.models.heads.masked_token import MaskedTokenHead
from glasshouse.records import progress_bar
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import EvaluationSpec
from glasshouse.tasks import text_windows
from glasshouse.tasks.base import IGNORED, Batch, Forward, Scoring, shares_of_ratio
from glasshouse.tasks.cross_entropy import cross_entropy_sum
from glasshouse.tasks.text_windows import WindowTask
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import MASK

MASKING_RATE, MASK_SHARE, RANDOM_SHARE = 0.15, 0.8, 0.1
# Independent selections in the final evaluation; each scores a share MASKING_RATE of the text.
MASK_DRAWS = 4


@dataclass(frozen=True)
class WindowScores:
    """For each window of text: nats, correct predictions and predictions, over all its selections of hidden tokens."""

    nats: np.ndarray
    correct: np.ndarray
    count: np.ndarray

    @property
    def total(self) -> float:
        return float(self.count.sum())

    @property
    def loss(self) -> float:
        return float(self.nats.sum()) / self.total


class MaskedToken(WindowTask):
    """Cross-entropy of each hidden token."""

    metrics = Metrics(
        [
            per_token(ACCURACY).of(
                lambda scores: scores.correct.sum() / scores.total,
                lambda scores: shares_of_ratio(scores.correct, scores.total),
            ),
            per_token(PERPLEXITY),
            per_token(LOSS).of(lambda scores: scores.loss, lambda scores: shares_of_ratio(scores.nats, scores.total)),
            TOKENS.of(lambda scores: scores.total),
        ],
        headline=("accuracy", "perplexity"),
    )
    specials = (MASK,)
    use = "features {run} --task verbal-arithmetic"
    heads = (MaskedTokenHead,)
    mask = vocabulary = 0
    needs = "masked tokens; choose model.kind=encoder or a bidirectional recurrent one, and model.head.kind=masked-token"

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        if tokenizer.mask is None:
            raise DataError("this tokenizer has no <|mask|>; leave out data.tokenizer_file, or use a file with it")
        self.mask, self.vocabulary = tokenizer.mask, tokenizer.vocabulary

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        tokens = text_windows.read(shard, self.context, 0, seed, epochs, examples)
        return self._mask_tokens(tokens, shard.separators, seed, epochs, examples)

    def _mask_tokens(
        self, tokens: np.ndarray, separators: frozenset[int], seed: Seed, epochs: np.ndarray, examples: np.ndarray
    ) -> Batch:
        """Windows with some tokens hidden as inputs, and the hidden tokens as targets."""
        seeds = np.broadcast_to(seed, epochs.shape)
        rows = [np.asarray(value, np.uint64)[:, None] for value in (seeds, epochs, examples)]
        positions = np.arange(tokens.shape[1], dtype=np.uint64)[None]

        def uniform(draw: int) -> np.ndarray:
            """One uniform number in [0, 1) per token; different for each `draw`."""
            hashed = hash64(*rows, positions, np.uint64(draw))
            return (hashed >> np.uint64(11)).astype(np.float64) / (1 << 53)

        ordinary = ~np.isin(tokens, list(separators))
        selection = np.where(ordinary, uniform(0), 2.0)
        # At least one token of each window is selected.
        selected = (selection < MASKING_RATE) | ((selection == selection.min(1, keepdims=True)) & ordinary)
        replacement = uniform(1)
        inputs = np.where(selected & (replacement < MASK_SHARE), self.mask, tokens)
        random_tokens = (uniform(2) * self.vocabulary).astype(np.int64)
        randomised = selected & (replacement >= MASK_SHARE) & (replacement < MASK_SHARE + RANDOM_SHARE)
        inputs = np.where(randomised, random_tokens, inputs)
        targets = np.where(selected, tokens, IGNORED)
        return {"inputs": torch.from_numpy(inputs), "targets": torch.from_numpy(targets)}

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return cross_entropy_sum(model(batch["inputs"]).flatten(0, 1), batch["targets"].flatten())

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].tokens_count for split in ("validation", "test"))
        per_round = text_windows.tokens_in_training(splits["validation"], settings)
        return rounds * per_round + MASK_DRAWS * (validation + test)

    def item_count(self, shard: Shard) -> int:
        return len(self._window_starts(shard, shard.tokens_count))

    def _window_starts(self, shard: Shard, limit: int) -> np.ndarray:
        length = min(self.context, shard.tokens_count)
        return np.arange(0, max(limit - length, 0) + 1, length)

    def score(self, scoring: Scoring) -> WindowScores:
        shard, limit = scoring.shard, text_windows.scored_tokens(scoring)
        draws = MASK_DRAWS if scoring.final else 1
        length, starts = min(self.context, shard.tokens_count), self._window_starts(shard, limit)
        sums = np.zeros((3, len(starts)))
        for draw in range(draws):
            progress = progress_bar.part(scoring.progress, draw, draws)
            for windows in scoring.batches(np.arange(len(starts)), progress):
                rows = starts[windows]
                text = np.asarray(shard.tokens[rows[:, None] + np.arange(length)], np.int64)
                batch = self._mask_tokens(text, shard.separators, 0, np.full(len(rows), draw), rows)
                targets = batch["targets"].to(scoring.device)
                logits = scoring.forward(batch["inputs"].to(scoring.device)).float()[targets != IGNORED]
                truth = targets[targets != IGNORED]
                losses, correct = F.cross_entropy(logits, truth, reduction="none"), logits.argmax(-1) == truth
                window = windows[np.nonzero(batch["targets"].numpy() != IGNORED)[0]]
                for total, terms in zip(sums, (losses.cpu(), correct.cpu(), torch.ones(len(window))), strict=True):
                    np.add.at(total, window, terms.numpy())
        if not sums[2].any():
            raise DataError("the text contains only separator tokens; use more text")
        return WindowScores(*sums)
