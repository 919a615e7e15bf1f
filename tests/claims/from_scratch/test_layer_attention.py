"""The statistics of attention by layer, against maps whose statistics are known."""

import math

import pytest
import torch

from glasshouse.claims.from_scratch.layer_attention import (
    COLUMN,
    DISTANCE,
    ENTROPY,
    FIRST,
    ITSELF,
    LEFT_OUT,
    PREVIOUS,
    text_statistics,
)
from glasshouse.inspection.example_batches import Sequences

LENGTH = 12


def statistics(weights_QK, length=LENGTH):
    read = Sequences(torch.zeros(1, LENGTH, dtype=torch.long), torch.tensor([length]))
    return {name: float(value[0]) for name, value in text_statistics(weights_QK[None, None], read).items()}


def test_attention_to_the_preceding_token():
    found = statistics(torch.eye(LENGTH).roll(1, 0))
    assert found[PREVIOUS] == 1
    assert found[DISTANCE] == 1
    assert found[ENTROPY] == found[ITSELF] == found[FIRST] == 0
    assert found[COLUMN] == pytest.approx(1 / (LENGTH - LEFT_OUT))


def test_attention_to_one_column():
    weights = torch.zeros(LENGTH, LENGTH)
    weights[:, 2] = 1
    found = statistics(weights)
    assert found[COLUMN] == 1
    assert found[FIRST] == 0
    assert found[DISTANCE] == pytest.approx(sum(q - 2 for q in range(LEFT_OUT, LENGTH)) / (LENGTH - LEFT_OUT))


def test_uniform_attention_over_the_real_tokens_of_a_padded_text():
    weights = torch.zeros(LENGTH, LENGTH)
    weights[:, :8] = 1 / 8
    found = statistics(weights, length=8)
    assert found[ENTROPY] == pytest.approx(math.log(8), abs=1e-6)
    assert found[COLUMN] == found[FIRST] == found[ITSELF] == pytest.approx(1 / 8)
    # Queries 4 to 7 over keys 0 to 7.
    assert found[DISTANCE] == pytest.approx(sum(abs(q - k) for q in range(4, 8) for k in range(8)) / 32)


def test_heads_are_averaged():
    both = torch.stack([torch.eye(LENGTH), torch.eye(LENGTH).roll(1, 0)])[None]
    read = Sequences(torch.zeros(1, LENGTH, dtype=torch.long), torch.tensor([LENGTH]))
    found = text_statistics(both, read)
    assert float(found[ITSELF]) == float(found[PREVIOUS]) == 0.5
