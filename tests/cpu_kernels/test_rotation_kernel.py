"""The kernel of rotary positions equals the plain operations, whatever the memory layout of the heads."""

import pytest
import torch

from glasshouse import cpu_kernels
from glasshouse.parts.positions import rotary
from tests.cpu_kernels.comparison import largest_difference, normal


@pytest.mark.parametrize("layout", ["heads first", "tokens first", "part of a projection"])
def test_it_equals_the_plain_operations(layout):
    batch, heads, tokens, width = 3, 2, 70, 44
    if layout == "heads first":
        x = normal(batch, heads, tokens, width)
    elif layout == "tokens first":
        x = normal(batch, tokens, heads, width).transpose(1, 2)
    else:
        x = normal(batch, tokens, 3 * heads * width)[..., : heads * width].unflatten(-1, (heads, width)).transpose(1, 2)
    cosine, sine = rotary.Rotary(width).cosine_and_sine(torch.arange(tokens))

    def plain(x: torch.Tensor) -> torch.Tensor:
        assert not cpu_kernels.usable(x)
        return rotary.rotate_by(x, cosine, sine)

    assert largest_difference(lambda x: cpu_kernels.rotate(x, cosine, sine), plain, x) < 1e-6
