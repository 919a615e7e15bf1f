"""ALiBi: scores fall in a straight line with distance (Press et al., Train Short, Test Long, 2022).

Axes: H heads, Q queries, K keys.
"""

import math

import torch
from torch import Tensor

from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class Alibi(Position):
    """-m_h |i - j| is added to the score of head h: m_h = 2^(-8 h / H) for h = 1..H where H is a power of two.

    For other numbers of heads the slopes of the power of two below are taken, and between them, every other one, those of
    the power above, as the paper's authors do. Defined at every distance.
    """

    acts = "bias"
    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "Alibi":
        return cls(sizes.heads)

    def check(self, heads: int, head_width: int) -> None:
        if len(self.slopes) != heads:
            raise SpecError(
                "built-for-other-sizes", f"Alibi was made for {len(self.slopes)} heads, and the attention has {heads}"
            )

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        distance = (keys[..., None, :] - queries[..., :, None]).abs()
        return -self.slopes[:, None, None] * distance[..., None, :, :]


def slopes(heads: int) -> list[float]:
    """The slope of each head."""
    below = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    between = [2 ** (-4 * (h + 1) / below) for h in range(0, 2 * below, 2)]
    return first + between[: heads - below]
