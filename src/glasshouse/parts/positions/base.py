"""The base class of positional encodings, and the encoding that does nothing.

Axes: B batch, T time, D width, H heads, Q queries, K keys, E head width. Positions are integers of shape (T) or (B, ..., T).
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.sizes import Sizes


class Position(nn.Module):
    """A positional encoding. A subclass overrides one of `embed`, `rotate` and `distance_bias`; here they change nothing."""

    # How it works: it is added to the embeddings once, or in each attention it rotates queries and keys or biases the
    # scores. The attention needs the capability of the same name.
    mechanism: ClassVar[Literal["embedding", "rotation", "bias", ""]] = ""
    unsupported: ClassVar[Unsupported] = {}

    @classmethod
    def build(cls, sizes: Sizes, settings: Any) -> "Position":
        """Build the encoding with these sizes. `settings` is an instance of the class's `Settings`, if it declares one."""
        return cls()

    def check(self, heads: int, head_width: int) -> None:
        """Raise SpecError if this part was built for an attention of other sizes."""
        return

    def keep_heads(self, kept: Sequence[int]) -> None:
        """Remove what belongs to other heads of the attention, counted from 0. Most encodings are the same for all heads."""
        return

    def initialise(self, deviation: float) -> None:
        """Adapt to the vectors that the positions are added to: the standard deviation of their entries in a new model."""
        return

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        """Add the positions to token embeddings."""
        return x_BTD

    def rotate(self, x_BHTE: Tensor, positions: Tensor) -> Tensor:
        """Rotate queries or keys by their positions."""
        return x_BHTE

    def distance_bias(self, distance: Tensor) -> Tensor | None:
        """The bias (..., H, Q, K) of the scores for distances (..., Q, K), query position minus key position, or None."""
        return None

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """The bias (..., H, Q, K) of the scores for these query and key positions, or None."""
        return self.distance_bias(queries[..., :, None] - keys[..., None, :]) if self.mechanism == "bias" else None

    def max_length(self) -> int | None:
        """The longest sequence that this part can encode, or None if there is no limit."""
        return None


class NoPosition(Position):
    """No positional encoding. Under a causal mask a model can still infer positions; without one it cannot see the order."""
