"""Masked-token prediction: some tokens of a text are hidden, and the model predicts them (Devlin et al., BERT, 2019).

A share MASKING_RATE of the tokens is selected. A share MASK_SHARE of the selected tokens becomes the mask token, a share
RANDOM_SHARE becomes a random token, and the rest stays unchanged, so that the model cannot conclude from an unmasked token
that it will not be predicted. The selection is a function of seed, epoch, window and position. The separator tokens between
documents are never selected.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batches import Seed, hash64
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import ACCURACY, LOSS, PERPLEXITY, TOKENS, Metrics, per_token
from glasshouse.metrics.perplexity import perplexity
from glasshouse.models.heads.masked_token import MaskedTokenHead
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks import text_windows
from glasshouse.tasks.base import IGNORED, Batch, Forward, Task, shares_of_ratio
from glasshouse.tasks.cross_entropy import cross_entropy_sum
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import MASK

MASKING_RATE, MASK_SHARE, RANDOM_SHARE = 0.15, 0.8, 0.1
# Independent selections in the final evaluation; each scores a share MASKING_RATE of the text.
MASK_DRAWS = 4


class MaskedToken(Task):
    """Cross-entropy of each hidden token."""

    metrics = Metrics(
        [per_token(ACCURACY), per_token(PERPLEXITY), per_token(LOSS), TOKENS], headline=("accuracy", "perplexity")
    )
    specials = (MASK,)
    reads = ("evaluation.tokens",)
    item_metrics, items = ("accuracy", "loss"), "windows of text"

    def __init__(self, context: int) -> None:
        self.context = context
        self.mask, self.vocabulary = 0, 0

    @classmethod
    def from_spec(cls, spec: Spec) -> "MaskedToken":
        return cls(spec.data.context)

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), MaskedTokenHead):
            raise SpecError(
                f"needs predictions of masked tokens, which model.kind={kind!r} with this head does not make; choose "
                "model.kind=encoder (or recurrent with model.bidirectional=true) and model.head.kind=masked-token",
                "task",
                "masked-token",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        if tokenizer.mask is None:
            raise DataError(
                "this tokenizer has no mask token; train a tokenizer for this task (leave out data.tokenizer_file), or use "
                "a file with <|mask|> among its special tokens"
            )
        self.mask, self.vocabulary = tokenizer.mask, tokenizer.vocabulary

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        if (count := prepared.splits["train"].tokens_count) < self.context:
            raise DataError(
                f"the training text has {count} tokens, too few for one window of data.context={self.context}; "
                "use more text or a shorter context"
            )
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    def example_count(self, shard: Shard) -> int:
        return text_windows.count(shard, self.context)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        return self._mask_tokens(
            text_windows.read(shard, self.context, 0, seed, epochs, examples), shard.separators, seed, epochs, examples
        )

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

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return (batches["targets"] != IGNORED).flatten(1).sum(1).clamp(min=1)

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["inputs"])
        targets = batch["targets"].flatten()
        return cross_entropy_sum(logits.flatten(0, 1), targets)

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        tokens = torch.zeros(rows, self.context, dtype=torch.int64)
        return {"inputs": tokens, "targets": tokens}

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * self.context * vocabulary

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].tokens_count for split in ("validation", "test"))
        return rounds * min(settings.tokens or validation, validation) + MASK_DRAWS * (validation + test)

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse features {run} --task verbal-arithmetic"

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        limit = shard.tokens_count if final or not settings.tokens else min(settings.tokens, shard.tokens_count)
        sums = self._score_windows(model, shard, limit, MASK_DRAWS if final else 1, settings.batch, progress, forward)
        nats, correct, count = sums.sum(1).tolist()
        loss = nats / count
        return {"loss": loss, "perplexity": perplexity(loss), "accuracy": correct / count, "tokens": count}

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        """An item is a window of the text, with all its selections of hidden tokens."""
        nats, correct, count = self._score_windows(model, shard, shard.tokens_count, MASK_DRAWS, settings.batch, progress)
        return {"accuracy": shares_of_ratio(correct, count.sum()), "loss": shares_of_ratio(nats, count.sum())}

    def item_count(self, shard: Shard) -> int:
        return len(self._window_starts(shard, shard.tokens_count))

    def _window_starts(self, shard: Shard, limit: int) -> np.ndarray:
        length = min(self.context, shard.tokens_count)
        return np.arange(0, max(limit - length, 0) + 1, length)

    def _score_windows(
        self,
        model: nn.Module,
        shard: Shard,
        limit: int,
        draws: int,
        batch_size: int,
        progress: Callable[[float], None],
        forward: Forward | None = None,
    ) -> np.ndarray:
        """For each window of the first `limit` tokens: nats, correct predictions and predictions (3, windows)."""
        length, starts = min(self.context, shard.tokens_count), self._window_starts(shard, limit)
        device, forward = next(model.parameters()).device, forward or model
        sums, was_training = np.zeros((3, len(starts))), model.training
        model.eval()
        try:
            with torch.inference_mode():
                for draw in range(draws):
                    for begin in range(0, len(starts), batch_size):
                        rows = starts[begin : begin + batch_size]
                        text = np.asarray(shard.tokens[rows[:, None] + np.arange(length)], np.int64)
                        batch = self._mask_tokens(text, shard.separators, 0, np.full(len(rows), draw), rows)
                        targets = batch["targets"].to(device)
                        logits = forward(batch["inputs"].to(device)).float()[targets != IGNORED]
                        truth = targets[targets != IGNORED]
                        losses, correct = F.cross_entropy(logits, truth, reduction="none"), logits.argmax(-1) == truth
                        window = begin + np.nonzero(batch["targets"].numpy() != IGNORED)[0]
                        for total, terms in zip(sums, (losses.cpu(), correct.cpu(), torch.ones(len(window))), strict=True):
                            np.add.at(total, window, terms.numpy())
                        progress((draw + min(1.0, (begin + batch_size) / len(starts))) / draws)
        finally:
            model.train(was_training)
        if not sums[2].any():
            raise DataError("the text contains only separator tokens; use more text")
        return sums
