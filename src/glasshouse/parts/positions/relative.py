"""Relative position bias: a learned number for each distance and head is added to the attention scores (after Shaw et al.,
Self-Attention with Relative Position Representations, 2018).

Axes: H heads, Q queries, K keys.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class RelativeBias(Position):
    """softmax(Q_i K_j / sqrt(E) + p_(i - j)) V. Distances beyond `furthest` share the bias of the distance `furthest`.

    Costs n^2 H additional operations. Has (2 furthest + 1) H parameters, or (furthest + 1) H under a causal mask.
    """

    mechanism = "bias"

    def __init__(self, furthest: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.furthest, self.causal = furthest, causal
        # With a causal mask i - j is never negative, so row d is for i - j = d. Otherwise row 0 is for i - j = -furthest.
        self.table = nn.Parameter(torch.zeros(furthest + 1 if causal else 2 * furthest + 1, heads))

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "RelativeBias":
        return cls(max(sizes.context - 1, 1), sizes.heads, sizes.causal)

    def check(self, heads: int, head_width: int) -> None:
        if self.table.shape[1] != heads:
            raise SpecError(
                f"RelativeBias was built for {self.table.shape[1]} heads, but the attention has {heads}; "
                f"build it with heads={heads}"
            )

    def keep_heads(self, kept: Sequence[int]) -> None:
        self.table = nn.Parameter(self.table.detach()[:, list(kept)])

    def distance_bias(self, distance: Tensor) -> Tensor:
        lowest = 0 if self.causal else -self.furthest
        return self.table[distance.clamp(lowest, self.furthest) - lowest].movedim(-1, -3)
