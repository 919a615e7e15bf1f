"""Sinusoidal positions against the published formula."""

import math

import torch

from glasshouse import parts


def test_sinusoids_are_as_published():
    sinusoidal = parts.Sinusoidal(width=6)
    embedded = sinusoidal.embed(torch.zeros(1, 4, 6), torch.arange(4))[0]
    assert torch.allclose(embedded[3, 1], torch.tensor(math.sin(3 / 10000 ** (2 / 6))))
    assert torch.allclose(embedded[3, 4], torch.tensor(math.cos(3 / 10000 ** (2 / 6))))
