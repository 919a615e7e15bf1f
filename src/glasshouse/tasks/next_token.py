"""Next-token prediction: at every position, predict the following token.

A text is split into windows of `context` tokens. The perplexity of a whole text follows an explicit rule. Windows advance by
`stride`. Each window scores its last `stride` predictions; the first window scores all. So every token is predicted exactly
once, and after the first window it has at least `context - stride` tokens before it. The separator tokens between documents
are inputs of the model and are never scored.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batch_stages import LARGEST_DIVISOR
from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import (
    BITS_PER_BYTE,
    LOSS,
    PERPLEXITY,
    TOKENS,
    UNKNOWN,
    WORD_PERPLEXITY,
    Metrics,
    per_token,
)
from glasshouse.metrics.perplexity import bits_per_byte, perplexity
from glasshouse.models.encoder_decoder import EncoderDecoder
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks import linear_cross_entropy, text_windows
from glasshouse.tasks.base import Batch, Forward, Task, shares_of_ratio
from glasshouse.tasks.cross_entropy import cross_entropy_sum

# Predictions in an item: a window of text that depends neither on the context nor on the stride, so that models with
# different contexts have the same items.
ITEM_TOKENS = 128


class NextToken(Task):
    """Cross-entropy of each next token. Label smoothing applies in training only."""

    metrics = Metrics(
        [per_token(LOSS), per_token(PERPLEXITY), WORD_PERPLEXITY, BITS_PER_BYTE, TOKENS, UNKNOWN],
        headline=("perplexity", "bits_per_byte"),
    )
    fused_loss = True
    reads = ("training.label_smoothing", "training.window_warmup", "evaluation.tokens", "evaluation.stride")
    item_metrics, items = ("loss", "bits_per_byte"), "windows of text"

    def __init__(self, context: int, smoothing: float = 0.0, window_warmup: bool = False) -> None:
        self.context, self.smoothing = context, smoothing
        self.shortest_window = context // LARGEST_DIVISOR if window_warmup else context

    @classmethod
    def from_spec(cls, spec: Spec) -> "NextToken":
        return cls(spec.data.context, spec.training.label_smoothing, spec.training.window_warmup > 0)

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), NextTokenHead) or isinstance(model, EncoderDecoder):
            raise SpecError(
                f"needs next-token predictions, which model.kind={kind!r} with this head does not make; choose "
                "model.kind=decoder or recurrent (or encoder with model.causal=true) and model.head.kind=next-token",
                "task",
                "next-token",
            )
        assert isinstance(model.head, NextTokenHead)
        if (count := len(model.head.future)) >= self.shortest_window:
            raise SpecError(
                f"is too many for windows of {self.shortest_window} of the data.context={self.context} tokens; such a "
                "window has no such token, so choose fewer of them",
                "model.head.future_tokens",
                count,
            )

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        if (count := prepared.splits["train"].tokens_count) <= self.context:
            raise DataError(
                f"the training text has {count} tokens, too few for one window of data.context={self.context} plus one "
                "token; use more text or a shorter context"
            )
        return model

    def example_count(self, shard: Shard) -> int:
        return text_windows.count(shard, self.context)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        tensor = torch.from_numpy(text_windows.read(shard, self.context, 1, seed, epochs, examples))
        return {"inputs": tensor[:, :-1], "targets": tensor[:, 1:]}

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["targets"]),), batches["targets"][0].numel())

    def prediction_count(self, batch: Batch) -> int:
        return batch["targets"].numel()

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        if getattr(model, "training", False) and len(getattr(getattr(model, "head", None), "future", ())):
            return self._loss_of_several_tokens(model, batch)
        targets = batch["targets"].flatten()
        if linear_cross_entropy.usable(model):
            return linear_cross_entropy.loss_sum(model, batch["inputs"], targets, self.smoothing)
        logits = model(batch["inputs"])
        return cross_entropy_sum(logits.flatten(0, 1), targets, self.smoothing)

    def _loss_of_several_tokens(self, model: Any, batch: Batch) -> Tensor:
        """The loss of the next token, plus the weighted mean of the losses of the tokens after it within the window."""
        features, targets, head = model.features(batch["inputs"]), batch["targets"], model.head
        total = cross_entropy_sum(model.project(features).flatten(0, 1), targets.flatten(), self.smoothing)
        for distance in range(1, len(head.future) + 1):
            logits = head(head.future_features(features[:, :-distance], distance), model.embedding.weight)
            later = cross_entropy_sum(logits.flatten(0, 1), targets[:, distance:].flatten(), self.smoothing)
            total = total + head.future_weight / len(head.future) * later
        return total

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        tokens = torch.zeros(rows, self.context, dtype=torch.int64)
        return {"inputs": tokens, "targets": tokens}

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * self.context * vocabulary

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].tokens_count for split in ("validation", "test"))
        per_round = min(settings.tokens or validation, validation)
        stride = self._final_stride(settings)
        return rounds * per_round + (validation + test) * self.context // stride

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        if final:
            return NextToken.final_evaluation(self, model, shard, settings, progress, forward)[0]
        limit = min(settings.tokens or shard.tokens_count, shard.tokens_count)
        tokens = np.asarray(shard.tokens[:limit])
        nats, count = self.score(model, tokens, shard.separators, self.context, settings.batch, progress, forward)
        return _metrics(nats, count, shard if limit == shard.tokens_count else None)

    def final_evaluation(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        stride = self._final_stride(settings)
        losses, scored = self.token_losses(
            model, np.asarray(shard.tokens), shard.separators, stride, settings.batch, progress, forward
        )
        return _metrics(float(losses.sum()), int(scored.sum()), shard), window_values(losses, int(scored.sum()), shard)

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        return NextToken.final_evaluation(self, model, shard, settings, progress)[1]

    def item_count(self, shard: Shard) -> int:
        return -(-(shard.tokens_count - 1) // ITEM_TOKENS)

    def _final_stride(self, settings: EvaluationSpec) -> int:
        return settings.stride or max(self.context // 2, 1)

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse sample {run}" + (f" --prompt {text}" if text else "")

    def score(
        self,
        model: nn.Module,
        tokens: np.ndarray,
        separators: frozenset[int],
        stride: int,
        batch: int,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> tuple[float, int]:
        """(sum of losses in nats, number of scored predictions) over a text, by the rule in the module docstring."""
        losses, scored = self.token_losses(model, tokens, separators, stride, batch, progress, forward)
        return float(losses.sum()), int(scored.sum())

    def token_losses(
        self,
        model: nn.Module,
        tokens: np.ndarray,
        separators: frozenset[int],
        stride: int,
        batch: int,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The loss in nats of each token after the first, and whether it is scored; the loss of a separator is 0."""
        predictions = len(tokens) - 1
        if predictions < 1:
            raise DataError("the text has no token to predict; use more text")
        length = min(self.context, predictions)
        starts = np.arange(0, max(predictions - length, 0) + stride, stride)
        starts = np.minimum(starts, predictions - length)
        # Window i scores the targets from the end of window i - 1 to its own end.
        ends = starts + length
        scored_counts = np.diff(ends, prepend=0)
        windows = starts[scored_counts > 0]
        scored_counts = scored_counts[scored_counts > 0]
        device, forward = next(model.parameters()).device, forward or model
        losses, scored = np.zeros(predictions), np.zeros(predictions, bool)
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                for begin in range(0, len(windows), batch):
                    rows = windows[begin : begin + batch]
                    window = torch.from_numpy(np.asarray(tokens[rows[:, None] + np.arange(length + 1)], np.int64))
                    inputs, targets = window[:, :-1].to(device), window[:, 1:]
                    first = torch.from_numpy(length - scored_counts[begin : begin + batch])
                    scored_here = torch.arange(length) >= first[:, None]
                    for separator in separators:
                        scored_here &= targets != separator
                    if device.type == "cpu" and hasattr(model, "features"):
                        # The head takes most of the time of a small model with a large vocabulary.
                        logits = model.project(model.features(inputs)[scored_here])  # type: ignore[operator]
                        window_losses = F.cross_entropy(logits.float(), targets[scored_here], reduction="none")
                    else:
                        # Fixed shapes, which a CUDA graph needs.
                        logits = forward(inputs).flatten(0, 1).float()
                        window_losses = F.cross_entropy(logits, targets.flatten().to(device), reduction="none")
                        window_losses = window_losses.cpu()[scored_here.flatten()]
                    places = (rows[:, None] + np.arange(length))[scored_here.numpy()]
                    losses[places] = window_losses.numpy()
                    scored[places] = True
                    progress(min(1.0, (begin + batch) / len(windows)))
        finally:
            model.train(was_training)
        if not scored.any():
            raise DataError("the text contains only separator tokens; use more text")
        return losses, scored


def window_values(losses: np.ndarray, count: int, shard: Shard) -> dict[str, np.ndarray]:
    """The metrics of each item: a window of ITEM_TOKENS predictions, of which the last may be shorter.

    `losses` are those of all tokens after the first, in nats, with 0 for the tokens that are not among the `count` scored.
    """
    nats = np.add.reduceat(losses, np.arange(0, len(losses), ITEM_TOKENS))
    return {"loss": shares_of_ratio(nats, count), "bits_per_byte": shares_of_ratio(nats / math.log(2), shard.bytes)}


def _metrics(nats: float, count: int, shard: Shard | None) -> dict[str, float]:
    """The metrics of a summed loss. `shard` is the whole text, or None if only a part of it was scored."""
    metrics = {"loss": nats / count, "perplexity": perplexity(nats / count), "tokens": float(count)}
    if shard is not None:
        metrics["bits_per_byte"] = bits_per_byte(nats, shard.bytes)
        metrics["bytes"] = float(shard.bytes)
        metrics["word_perplexity"] = perplexity(nats / max(shard.words, 1))
        if shard.unknown:
            metrics["unknown_share"] = shard.unknown / count
    return metrics
