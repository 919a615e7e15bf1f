"""Pooled head: one vector per sequence, for search and comparison.

Axes: B batch, T time, D width.
"""

from dataclasses import dataclass

from torch import Tensor

from glasshouse.models.heads.base import Head, HeadSizes
from glasshouse.models.heads.pooling import POOLINGS, pool
from glasshouse.specs.spec_fields import setting


class PooledHead(Head):
    """pool(x). Has no weights."""

    @dataclass(frozen=True)
    class Settings:
        pooling: str = setting("mean", "how the token vectors are pooled to one", choices=POOLINGS)

    def __init__(self, pooling: str = "mean") -> None:
        super().__init__()
        self.pooling = pooling

    @classmethod
    def build(cls, sizes: HeadSizes, settings: Settings) -> "PooledHead":
        return cls(settings.pooling)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return pool(features_BTD, self.pooling, lengths_B)

    def flops(self, tokens: int) -> int:
        return 0
