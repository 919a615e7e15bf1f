"""ALiBi against the slopes and biases of the paper."""

import pytest
import torch

from glasshouse import parts
from glasshouse.parts.positions.alibi import slopes


def test_alibi_slopes_are_those_of_the_paper():
    assert slopes(8) == [1 / 2**n for n in range(1, 9)]
    assert slopes(16)[0] == pytest.approx(2**-0.5)
    # Twelve heads: the slopes of eight, then every other slope of sixteen.
    assert slopes(12) == pytest.approx([1 / 2**n for n in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])


def test_alibi_decreases_linearly_with_distance():
    bias = parts.Alibi(heads=2).bias(torch.tensor([5]), torch.arange(8))
    assert bias.shape == (2, 1, 8)
    torch.testing.assert_close(bias[0, 0], -(2**-4) * (torch.arange(8) - 5).abs().float())
