"""Pooled: one vector for a whole sequence, as it is, for search and comparison.

Axes: B batch, T time, D width.
"""

from torch import Tensor

from glasshouse.models.heads.base import Head, Shape
from glasshouse.models.heads.pooling import pool


class PooledHead(Head):
    """pool(x): no weights of its own."""

    def __init__(self, pooling: str = "mean") -> None:
        super().__init__()
        self.pooling = pooling

    @classmethod
    def build(cls, shape: Shape) -> "PooledHead":
        return cls(shape.settings.pooling)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return pool(features_BTD, self.pooling, lengths_B)

    def flops(self, tokens: int) -> int:
        return 0
