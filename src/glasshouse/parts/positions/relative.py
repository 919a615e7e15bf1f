"""Relative attention: a learned number for each distance and head is added to the scores.

Shaw et al., Self-Attention with Relative Position Representations, 2018, in the form with a bias per distance.

Axes: H heads, Q queries, K keys.
"""

import torch
from torch import Tensor, nn

from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class RelativeBias(Position):
    """softmax(Q_i K_j / sqrt(E) + p_(i - j)) V: p has an entry for each distance that `furthest` allows, and a greater
    distance shares the furthest one's.

    Costs n^2 H more than attention without it, and (2 furthest + 1) H parameters, (furthest + 1) H under a causal mask.
    """

    acts = "bias"

    def __init__(self, furthest: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.furthest, self.causal = furthest, causal
        # Entry d is for i - j = d; with a causal mask no distance is below zero.
        self.table = nn.Parameter(torch.zeros(furthest + 1 if causal else 2 * furthest + 1, heads))

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "RelativeBias":
        return cls(max(sizes.context - 1, 1), sizes.heads, sizes.causal)

    def check(self, heads: int, head_width: int) -> None:
        if self.table.shape[1] != heads:
            raise SpecError(
                "built-for-other-sizes",
                f"RelativeBias was made for {self.table.shape[1]} heads, and the attention has {heads}",
            )

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        lowest = 0 if self.causal else -self.furthest
        distance = (queries[..., :, None] - keys[..., None, :]).clamp(lowest, self.furthest)
        return self.table[distance - lowest].movedim(-1, -3)
