"""Relative attention as in T5: a learned number for each head and each bucket of distances.

Raffel et al., Exploring the Limits of Transfer Learning, 2020.

Axes: H heads, Q queries, K keys.
"""

import math

import torch
from torch import Tensor, nn

from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class BucketedBias(Position):
    """softmax(Q_i K_j / sqrt(E) + p_bucket(i - j)) V: half of the buckets hold one distance each, the other half distances
    that grow geometrically up to `furthest`, and the last one everything beyond.

    Without a causal mask each side has half of the buckets. Costs n^2 H more than attention without it, and `buckets` times
    H parameters, at any length.
    """

    acts = "bias"

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
                "built-for-other-sizes",
                f"BucketedBias was made for {self.table.shape[1]} heads, and the attention has {heads}",
            )

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return self.table[self.bucket(queries[..., :, None] - keys[..., None, :])].movedim(-1, -3)

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance i - j; what lies ahead has the second half of the buckets, or shares bucket 0."""
        side = self.buckets if self.causal else self.buckets // 2
        ahead = torch.zeros_like(distance) if self.causal else (distance < 0) * side
        distance = distance.clamp(min=0) if self.causal else distance.abs()
        exact = side // 2
        octaves = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.furthest / exact)
        coarse = (exact + (octaves * (side - exact)).long()).clamp(max=side - 1)
        return ahead + torch.where(distance < exact, distance, coarse)
