"""One-hot positions."""

import torch

from glasshouse import parts


def test_one_hot_adds_a_one_at_its_position():
    embedded = parts.OneHot(context=4, width=6).embed(torch.zeros(1, 3, 6), torch.arange(3))[0]
    assert torch.equal(embedded, torch.eye(6)[:3])
