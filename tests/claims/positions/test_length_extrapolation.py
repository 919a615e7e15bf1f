"""Scores at other lengths than in training: the rise of the loss, windows of text, and what is kept of them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glasshouse.claims.positions import length_extrapolation
from glasshouse.claims.rules import lower
from glasshouse.results.claim import Series

SHORT = Series({0: 5.0, 1: math.nan}, {0: (4.0, 6.0)})
LONG = Series({0: 5.5, 1: math.nan}, {0: (4.5, 6.5)})


class EvenGuess(nn.Module):
    """Finds all of ten tokens equally likely at every position."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, tokens: Tensor) -> Tensor:
        return torch.zeros(*tokens.shape, 10)


def test_a_rise_is_that_of_each_seed_and_of_each_window():
    risen = length_extrapolation.rise(SHORT, LONG)
    assert risen.values[0] == 0.5
    assert math.isnan(risen.values[1]), "a run that diverged has no rise"
    assert risen.items == {0: (0.5, 0.5)}


@pytest.mark.parametrize("length", [32, 64, 128])
def test_the_mean_over_windows_is_the_loss_per_scored_token(length):
    text = SimpleNamespace(tokens=np.arange(700) % 10, separators=frozenset({3}))
    losses = length_extrapolation.window_losses(EvenGuess(), text, length)
    assert len(losses) == math.ceil(699 / 128)
    assert losses.mean() == pytest.approx(math.log(10))
    assert len(length_extrapolation.window_losses(EvenGuess(), text, length, tokens=200)) == 2


def test_windows_are_kept_only_where_a_comparison_resamples_them():
    parts = [lower("a", "b", 0.1, items=True), lower("c", 1.0, 0.1)]
    kept = length_extrapolation.without_unused_windows({"a": SHORT, "b": LONG, "c": SHORT}, parts)
    assert [series.items is not None for series in kept.values()] == [True, True, False]
    assert kept["c"].values is SHORT.values


def test_a_length_without_training_before_it_has_no_rise():
    assert set(length_extrapolation.quantities("arm", "arm", (128,))) == {"arm/128"}
    assert set(length_extrapolation.quantities("arm", "arm", (16, 32, 64))) == {"arm/16", "arm/32", "arm/64", "arm/rise-64"}
