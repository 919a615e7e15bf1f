"""The base class of positional encodings, and the encoding that does nothing.

Axes: B batch, T time, D width, H heads, Q queries, K keys, E head width. Positions are integers of shape (T) or (B, ..., T).
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from glasshouse import cpu_kernels


class Position(nn.Module):
    """A positional encoding. A subclass overrides `embed`, `rotation` or `distance_bias`; here they change nothing."""

    # How it works: it is added to the embeddings once, or in each attention it rotates queries and keys or biases the
    # scores. The attention needs the capability of the same name.
    mechanism: ClassVar[Literal["embedding", "rotation", "bias", ""]] = ""
    unsupported: ClassVar[dict[str, str]] = {}
    # Encodings with the same key rotate alike, so that the layers of a model can share `rotation`.
    rotation_key: Any = None
    # The size of its attention that it was built for, "heads" or "head_width", if that matters.
    built_for: tuple[str, int] | None = None
    # The longest sequence that it can encode; None for no limit.
    max_length: int | None = None

    def keep_heads(self, kept: Sequence[int]) -> None:
        """Remove what belongs to other heads of the attention, counted from 0. Most encodings are the same for all heads."""

    def initialise(self, deviation: float) -> None:
        """Adapt to the vectors that the positions are added to: the standard deviation of their entries in a new model."""

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        return x_BTD

    def rotation(self, positions: Tensor) -> tuple[Tensor, Tensor] | None:
        """The cosine and sine of the angles at positions (T) or (B, T), (T, E/2) or (B, 1, T, E/2); None for no rotation."""
        return None

    @property
    def rotation_frequencies(self) -> Tensor | None:
        """The angle (E/2) from one position to the next, in float32, for kernels that rotate by themselves."""
        return None

    def rotate(self, x_BHTE: Tensor, positions: Tensor) -> Tensor:
        rotation = self.rotation(positions)
        return x_BHTE if rotation is None else rotate_by(x_BHTE, *rotation)

    def distance_bias(self, distance: Tensor) -> Tensor | None:
        """The bias (..., H, Q, K) of the scores for distances (..., Q, K), query position minus key position, or None."""
        return None

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return self.distance_bias(queries[..., :, None] - keys[..., None, :]) if self.mechanism == "bias" else None


class NoPosition(Position):
    """No positional encoding. Under a causal mask a model can still infer positions; without one it cannot see the order."""


def rotate_by(x_BHTE: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The features (i, i + E/2), rotated."""
    if cosine.dim() == 2 and cpu_kernels.usable(x_BHTE):
        return cpu_kernels.rotate(x_BHTE, cosine, sine)
    # The angles are float32. The products stay in float32 and are rounded to the dtype of x only once, at the end.
    first, second = x_BHTE.chunk(2, dim=-1)
    rotated = torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
    return rotated.to(x_BHTE.dtype)
