"""Learned positional encoding: a vector for each position (Gehring et al. 2017; GPT-2)."""

from typing import ClassVar

from torch import Tensor, nn

from glasshouse.parts.positions.base import Position


class Learned(Position):
    """x_t + table[t]. Has n D parameters, and no vector for positions beyond the context it was built for."""

    mechanism = "embedding"
    unsupported: ClassVar[dict[str, str]] = {"longer": "its table ends at the context it was built for"}

    def __init__(self, context: int, width: int, embedding_deviation: float = 0.0) -> None:
        super().__init__()
        self.max_length = context
        self.table = nn.Embedding(context, width)
        # `models.initialise` reads it; 0 means the rule for all matrices.
        self.initial_deviation = embedding_deviation

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        return x_BTD + self.table(positions)
