"""What a position part may do: add to embeddings, turn queries and keys, or bias scores. Each kind overrides one of these.

Axes: B batch, T time, D width, H heads, Q queries, K keys, E head width. Positions are whole numbers of shape (T) or
(B, ..., T).
"""

from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.sizes import Sizes


class Position(nn.Module):
    """By itself does nothing."""

    # Where it acts: once at the embeddings, or in each attention, by the law that this asks of the attention.
    acts: ClassVar[Literal["embedding", "rotation", "bias", ""]] = ""
    unsupported: ClassVar[Unsupported] = {}

    @classmethod
    def build(cls, sizes: Sizes, settings: Any) -> "Position":
        """The position of these sizes; `settings` is an instance of the class's own `Settings`, where it declares some."""
        return cls()

    def check(self, heads: int, head_width: int) -> None:
        """Raise SpecError where this part was made for an attention of other sizes."""
        return

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        """Token embeddings with order in them."""
        return x_BTD

    def rotate(self, x_BHTE: Tensor, positions: Tensor) -> Tensor:
        """Queries, or keys, with order in them."""
        return x_BHTE

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """What to add to the scores, (..., H, Q, K), for query and key positions; None adds nothing."""
        return None

    def limit(self) -> int | None:
        """The first position this part cannot take, or None where there is none."""
        return None


class NoPosition(Position):
    """No order at all: with a causal mask a model can still count, without one it is blind to order."""
