"""Relative position bias with buckets of distances, as in T5 (Raffel et al., Exploring the Limits of Transfer Learning,
2020).

Axes: H heads, Q queries, K keys.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class BucketedBias(Position):
    """softmax(Q_i K_j / sqrt(E) + p_bucket(i - j)) V. The scalar p is learned for each head and each bucket of distances.

    Half of the buckets hold one distance each. The ranges of the other half grow geometrically up to `furthest`; the last
    bucket also holds all greater distances. Without a causal mask, earlier and later keys have half of the buckets each.
    Costs n^2 H additional operations, and has `buckets` H parameters.
    """

    mechanism = "bias"

    def __init__(self, heads: int, buckets: int = 32, furthest: int = 128, causal: bool = False) -> None:
        super().__init__()
        self.buckets, self.furthest, self.causal = buckets, furthest, causal
        self.table = nn.Parameter(torch.zeros(buckets, heads))

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "BucketedBias":
        return cls(sizes.heads, causal=sizes.causal)

    def check(self, heads: int, head_width: int) -> None:
        if self.table.shape[1] != heads:
            raise SpecError(
                f"BucketedBias was built for {self.table.shape[1]} heads, but the attention has {heads}; "
                f"build it with heads={heads}"
            )

    def keep_heads(self, kept: Sequence[int]) -> None:
        self.table = nn.Parameter(self.table.detach()[:, list(kept)])

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
