"""ALiBi: attention scores decrease linearly with distance (Press et al., Train Short, Test Long, 2022).

Axes: H heads, Q queries, K keys.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from glasshouse.parts.positions.base import Position


class Alibi(Position):
    """Adds -m_h |i - j| to the scores of head h. For H heads, H a power of two, m_h = 2^(-8 h / H), h = 1..H.

    For another H, the heads get the slopes of the next lower power of two, followed by every other slope of the next higher
    one, as in the authors' code. It is defined at every distance and has no parameters.
    """

    mechanism = "bias"
    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.built_for = ("heads", heads)
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def keep_heads(self, kept: Sequence[int]) -> None:
        self.slopes = self.slopes[list(kept)]

    def distance_bias(self, distance: Tensor) -> Tensor:
        return -self.slopes[:, None, None] * distance.abs()[..., None, :, :]


def slopes(heads: int) -> list[float]:
    power = 2 ** math.floor(math.log2(heads))
    lower = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    every_other_higher = [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * power, 2)]
    return lower + every_other_higher[: heads - power]
