"""The decoder as a prefix language model."""

import torch

from glasshouse import parts
from tests.models.small_models import build, changed_at, tokens


def test_a_decoder_can_be_a_prefix_language_model():
    model, x = build(kind="decoder"), tokens(1, 8)
    mask = parts.Causal() | parts.Prefix([4])
    before = model.features(x, mask=mask)
    after = model.features(changed_at(x, 3), mask=mask)
    assert not torch.equal(before[0, 0], after[0, 0]), "attention to the prefix is bidirectional"
    assert torch.equal(before[0, :6], model.features(changed_at(x, 6), mask=mask)[0, :6])
