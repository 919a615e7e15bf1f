"""Relative position biases: a learned number for each head and distance, or bucket of distances, is added to the scores.

Axes: H heads, Q queries, K keys.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from glasshouse.parts.positions.base import Position


class LearnedBias(Position):
    """A table of biases with a column for each head."""

    mechanism = "bias"

    def __init__(self, rows: int, heads: int) -> None:
        super().__init__()
        self.built_for = ("heads", heads)
        self.table = nn.Parameter(torch.zeros(rows, heads))

    def keep_heads(self, kept: Sequence[int]) -> None:
        self.table = nn.Parameter(self.table.detach()[:, list(kept)])


class RelativeBias(LearnedBias):
    """Relative position bias: a learned number for each distance and head is added to the attention scores (after Shaw et
    al., Self-Attention with Relative Position Representations, 2018).

    softmax(Q_i K_j / sqrt(E) + p_(i - j)) V. The furthest distance within the context is n - 1; distances beyond it share
    its bias. Costs n^2 H additional operations. Has (2 n - 1) H parameters, or n H under a causal mask.
    """

    def __init__(self, context: int, heads: int, causal: bool = False) -> None:
        furthest = max(context - 1, 1)
        # With a causal mask i - j is never negative, so row d is for i - j = d. Otherwise row 0 is for i - j = -furthest.
        super().__init__(furthest + 1 if causal else 2 * furthest + 1, heads)
        self.furthest, self.causal = furthest, causal

    def distance_bias(self, distance: Tensor) -> Tensor:
        lowest = 0 if self.causal else -self.furthest
        return self.table[distance.clamp(lowest, self.furthest) - lowest].movedim(-1, -3)


class BucketedBias(LearnedBias):
    """Relative position bias with buckets of distances, as in T5 (Raffel et al., Exploring the Limits of Transfer Learning,
    2020).

    softmax(Q_i K_j / sqrt(E) + p_bucket(i - j)) V. The scalar p is learned for each head and each bucket of distances.

    Half of the buckets hold one distance each. The ranges of the other half grow geometrically up to `furthest`; the last
    bucket also holds all greater distances. Without a causal mask, earlier and later keys have half of the buckets each.
    Costs n^2 H additional operations, and has `buckets` H parameters.
    """

    def __init__(self, heads: int, buckets: int = 32, furthest: int = 128, causal: bool = False) -> None:
        super().__init__(buckets, heads)
        self.buckets, self.furthest, self.causal = buckets, furthest, causal

    def distance_bias(self, distance: Tensor) -> Tensor:
        return self.table[self.bucket(distance)].movedim(-1, -3)

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance i - j. Negative distances use the second half of the buckets, or 0 if causal."""
        per_side = self.buckets if self.causal else self.buckets // 2
        first_bucket = torch.zeros_like(distance) if self.causal else (distance < 0) * per_side
        distance = distance.clamp(min=0) if self.causal else distance.abs()
        exact = per_side // 2
        # Logarithmic position between the last exact bucket (0) and `furthest` (1).
        fraction = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.furthest / exact)
        coarse = (exact + (fraction * (per_side - exact)).long()).clamp(max=per_side - 1)
        return first_bucket + torch.where(distance < exact, distance, coarse)
