"""Pooling with padding and with empty rows."""

import torch

from glasshouse.models.heads.pooling import pool


def test_pooling():
    x, lengths = torch.randn(3, 4, 5), torch.tensor([4, 2, 0])
    torch.testing.assert_close(pool(x, "mean", lengths)[1], x[1, :2].mean(0))
    torch.testing.assert_close(pool(x, "max", lengths)[1], x[1, :2].amax(0))
    assert torch.equal(pool(x, "first", lengths)[1], x[1, 0])
    assert torch.equal(pool(x, "last", lengths)[1], x[1, 1])
    assert torch.equal(pool(x, "last")[1], x[1, 3])
    for kind in ("mean", "max", "first", "last"):
        assert torch.equal(pool(x, kind, lengths)[2], torch.zeros(5)), kind
