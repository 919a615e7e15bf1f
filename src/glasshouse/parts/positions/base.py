"""What a position part may do: add to embeddings, turn queries and keys, or bias scores. Each kind overrides one of these.

Axes: B batch, T time, D width, H heads, Q queries, K keys, E head width. Positions are whole numbers of shape (T) or (B, T).
"""

from typing import ClassVar

from torch import Tensor, nn

from glasshouse.parts.sizes import Sizes


class Position(nn.Module):
    """By itself does nothing."""

    # Where the part sits: once at the embeddings, or in each attention.
    at_embedding: ClassVar[bool] = False

    @classmethod
    def build(cls, sizes: Sizes) -> "Position":
        return cls()

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        """Token embeddings with order in them."""
        return x_BTD

    def rotate(self, queries_BHTE: Tensor, keys_BHTE: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys with order in them."""
        return queries_BHTE, keys_BHTE

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """What to add to the scores, (H, Q, K) or (B, H, Q, K), for query and key positions; None adds nothing."""
        return None

    def limit(self) -> int | None:
        """The first position this part cannot take, or None where there is none."""
        return None


class NoPosition(Position):
    """No order at all: with a causal mask a model can still count, without one it is blind to order."""
