"""Next-token prediction: at every position, predict the following token.

A text is split into windows of `context` tokens. The perplexity of a whole text follows an explicit rule. Windows advance by
`stride`. Each window scores its last `stride` predictions; the first window scores all. So every token is predicted exactly
once, and after the first window it has at least `context - stride` tokens before it. The separator tokens between documents
are inputs of the model and are never scored.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.batch_stages import LARGEST_DIVISOR
from glasshouse.data.batches import Seed
from glasshouse.data.shards import Shard
from glasshouse.metrics import metric
from glasshouse.metrics.metric import Metrics
from glasshouse.models.base import Model, TextModel
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.specs.declared import read_settings
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks import linear_cross_entropy, text_windows
from glasshouse.tasks.base import (
    Batch,
    Forward,
    LabelSmoothing,
    Progress,
    Scoring,
    evaluation_mode,
    no_progress,
    shares_of_ratio,
)
from glasshouse.tasks.cross_entropy import cross_entropy_sum
from glasshouse.tasks.text_windows import TokenLimit, WindowTask

# Predictions in an item: a window of text that depends neither on the context nor on the stride, so that models with
# different contexts have the same items.
ITEM_TOKENS = 128


@dataclass(frozen=True)
class TokenScores:
    """The loss in nats of each token after the first, 0 unless it is `scored`; and the text, if all of it was."""

    losses: np.ndarray
    scored: np.ndarray
    whole: Shard | None

    @cached_property
    def count(self) -> int:
        return max(int(self.scored.sum()), 1)

    @cached_property
    def nats(self) -> float:
        return float(self.losses.sum())

    @property
    def loss(self) -> float:
        return self.nats / self.count

    @property
    def by_window(self) -> np.ndarray:
        """The nats of each item: a window of ITEM_TOKENS predictions, of which the last may be shorter."""
        return np.add.reduceat(self.losses, np.arange(0, len(self.losses), ITEM_TOKENS))


class NextToken(WindowTask):
    """Cross-entropy of each next token. Label smoothing applies in training only."""

    metrics = Metrics(
        [
            metric.per_token(metric.LOSS).of(
                lambda scores: scores.loss, lambda scores: shares_of_ratio(scores.by_window, scores.count)
            ),
            metric.per_token(metric.PERPLEXITY),
            metric.WORD_PERPLEXITY.of(
                lambda scores: metric.perplexity(scores.nats / max(scores.whole.words, 1)) if scores.whole else None
            ),
            metric.BITS_PER_BYTE.of(
                lambda scores: metric.bits_per_byte(scores.nats, scores.whole.bytes) if scores.whole else None,
                lambda scores: shares_of_ratio(scores.by_window / math.log(2), scores.whole.bytes),
            ),
            metric.TOKENS.of(lambda scores: scores.count),
            metric.BYTES.of(lambda scores: scores.whole.bytes if scores.whole else None),
            metric.UNKNOWN.of(
                lambda scores: scores.whole.unknown / scores.count if scores.whole and scores.whole.unknown else None
            ),
        ],
        headline=("perplexity", "bits_per_byte"),
    )
    fused_loss = True
    extra = 1
    use = "sample {run}"
    heads = (NextTokenHead,)
    needs = "the next token; choose model.kind=decoder, recurrent or a causal encoder, and model.head.kind=next-token"

    @dataclass(frozen=True)
    class Settings(LabelSmoothing):
        window_warmup: float = setting(
            0.0, "share of the steps in which windows are split, first in four, then in two", minimum=0, maximum=1, rare=True
        )

    @dataclass(frozen=True)
    class EvaluationSettings(TokenLimit):
        stride: int = setting(0, "tokens scored per window in the final evaluation; 0 means half the context", minimum=0)

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        settings = read_settings(NextToken.Settings, spec.training.own)
        self.smoothing = settings.label_smoothing
        self.shortest_window = self.context // LARGEST_DIVISOR if settings.window_warmup else self.context

    @classmethod
    def check_spec(cls, spec: Spec) -> None:
        context, warmup = spec.data.context, read_settings(NextToken.Settings, spec.training.own).window_warmup
        if warmup and context % LARGEST_DIVISOR:
            raise SpecError(f"needs a multiple of 4, not data.context={context}", "training.window_warmup", warmup)
        if (stride := read_settings(NextToken.EvaluationSettings, spec.evaluation.own).stride) > context:
            raise SpecError(f"is more than data.context={context}; choose a smaller stride", "evaluation.stride", stride)

    def check_model(self, model: Model, kind: str) -> None:
        super().check_model(model, kind)
        if (count := model.head.future_tokens) >= self.shortest_window:
            reason = f"is too many for windows of {self.shortest_window} of the data.context={self.context} tokens"
            raise SpecError(f"{reason}; choose fewer", "model.head.future_tokens", count)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        tensor = torch.from_numpy(text_windows.read(shard, self.context, 1, seed, epochs, examples))
        return {"inputs": tensor[:, :-1], "targets": tensor[:, 1:]}

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

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].tokens_count for split in ("validation", "test"))
        per_round = text_windows.tokens_in_training(splits["validation"], settings)
        return rounds * per_round + (validation + test) * self.context // self._final_stride(settings)

    def score(self, scoring: Scoring) -> TokenScores:
        shard, settings, limit = scoring.shard, scoring.settings, text_windows.scored_tokens(scoring)
        stride = self._final_stride(settings) if scoring.final else self.context
        tokens, run_by = np.asarray(shard.tokens[:limit]), (scoring.progress, scoring.forward)
        losses, scored = self.token_losses(scoring.model, tokens, shard.separators, stride, settings.batch, *run_by)
        return TokenScores(losses, scored, shard if limit == shard.tokens_count else None)

    def item_count(self, shard: Shard) -> int:
        return -(-(shard.tokens_count - 1) // ITEM_TOKENS)

    def _final_stride(self, settings: EvaluationSpec) -> int:
        return read_settings(NextToken.EvaluationSettings, settings.own).stride or max(self.context // 2, 1)

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return super().example_command(run, text) + (f" --prompt {text}" if text else "")

    def token_losses(
        self,
        model: Model,
        tokens: np.ndarray,
        separators: frozenset[int],
        stride: int,
        batch: int,
        progress: Progress = no_progress,
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
        with evaluation_mode(model):
            for begin in range(0, len(windows), batch):
                rows = windows[begin : begin + batch]
                window = torch.from_numpy(np.asarray(tokens[rows[:, None] + np.arange(length + 1)], np.int64))
                inputs, targets = window[:, :-1].to(device), window[:, 1:]
                first = torch.from_numpy(length - scored_counts[begin : begin + batch])
                scored_here = torch.arange(length) >= first[:, None]
                for separator in separators:
                    scored_here &= targets != separator
                if device.type == "cpu" and isinstance(model, TextModel):
                    # The head takes most of the time of a small model with a large vocabulary.
                    logits = model.project(model.features(inputs)[scored_here])
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
        if not scored.any():
            raise DataError("the text contains only separator tokens; use more text")
        return losses, scored
