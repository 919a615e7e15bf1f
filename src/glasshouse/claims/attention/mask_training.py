"""Small language models trained with and without the causal mask. Knows no claim.

`glasshouse train` refuses a model without the mask that predicts the next token, because it sees its answers. So these
models have their own training loop: an encoder with a head for the next token, whose mask is taken away.

Axes: B batch, T time.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse import models
from glasshouse.data import prepared_data
from glasshouse.specs.spec import DataSpec, HeadSpec, ModelSpec

CONTEXT, BATCH, STEPS, LEARNING_RATE = 32, 16, 300, 1e-2
TEST_WINDOWS = 512
# The training perplexity is the mean over this many steps at the end.
LAST_STEPS = 30
MODEL = ModelSpec(
    kind="encoder", width=32, layers=2, heads=2, position="rotary", own={"causal": True}, head=HeadSpec("next-token")
)
TEXT = DataSpec(source="state-of-the-union", tokenizer="characters", vocabulary=256, context=CONTEXT)
# Random tokens have a known lowest perplexity: their number.
RANDOM_TOKENS = 16

# A number of windows -> their tokens (windows, CONTEXT + 1).
Windows = Callable[[int, torch.Generator], Tensor]


@dataclass(frozen=True)
class Language:
    """What a model is trained on and tested on."""

    vocabulary: int
    training: Windows
    test: Windows


@dataclass(frozen=True)
class Training:
    """The losses of one training in nats: of each step, and on the test windows inside a window and at its last token."""

    losses: tuple[float, ...]
    inside: float
    last: float

    @property
    def perplexity(self) -> float:
        """The training perplexity over the last steps."""
        return math.exp(statistics.fmean(self.losses[-LAST_STEPS:]))


def text_language() -> Language:
    """The characters of public texts."""
    prepared = prepared_data.prepare(TEXT)
    splits = {split: np.asarray(prepared.splits[split].tokens, np.int64) for split in ("train", "test")}
    return Language(prepared.tokenizer.vocabulary, _windows_of(splits["train"]), _windows_of(splits["test"]))


def random_language() -> Language:
    """Random tokens, all equally likely: nothing can be predicted."""

    def windows(count: int, generator: torch.Generator) -> Tensor:
        return torch.randint(0, RANDOM_TOKENS, (count, CONTEXT + 1), generator=generator)

    return Language(RANDOM_TOKENS, windows, windows)


def _windows_of(tokens: np.ndarray) -> Windows:
    text = torch.from_numpy(tokens)

    def windows(count: int, generator: torch.Generator) -> Tensor:
        starts = torch.randint(0, len(text) - CONTEXT, (count,), generator=generator)
        return text[starts[:, None] + torch.arange(CONTEXT + 1)]

    return windows


def train(language: Language, masked: bool, seed: int, steps: int, device: torch.device) -> Training:
    """Train a model to predict each next token of a window, at every place of it."""
    model: Any = models.build(MODEL, language.vocabulary, CONTEXT, seed).to(device)
    model.causal = masked
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), LEARNING_RATE)
    losses: list[Tensor] = []
    for _ in range(steps):
        loss = _losses_BT(model, language.training(BATCH, generator).to(device)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    with torch.inference_mode():
        test_BT = _losses_BT(model.eval(), language.test(TEST_WINDOWS, generator).to(device))
    # Only the last prediction of a window has its answer outside the window.
    return Training(tuple(torch.stack(losses).tolist()), test_BT[:, :-1].mean().item(), test_BT[:, -1].mean().item())


def _losses_BT(model: Any, windows: Tensor) -> Tensor:
    logits, targets = model(windows[:, :-1]), windows[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)


def mean_curve(trainings: Sequence[Training], every: int = 10) -> tuple[tuple[float, float], ...]:
    """(step, training perplexity over the steps since the point before) over all trainings."""
    steps = len(trainings[0].losses)
    return tuple(
        (
            float(min(start + every, steps)),
            math.exp(statistics.fmean(loss for training in trainings for loss in training.losses[start : start + every])),
        )
        for start in range(0, steps, every)
    )
