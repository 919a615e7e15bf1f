"""Fixed positional codes: vectors that are added to the embeddings and are not trained. Their size follows the embeddings.

Vaswani et al. (Attention Is All You Need, 2017) multiply the embeddings by sqrt(width) before they add sines of amplitude 1.
Embedding entries with standard deviation 1 / sqrt(width) then have standard deviation 1. Here the code is scaled to the
embeddings instead, which gives the same ratio. There are three reasons:

- The embedding matrix may be the output matrix too (tied heads), and imports and exports read it. A factor in front of it
  would have to be undone there.
- A code has the size of whatever it is added to: tokens, or the patches of a picture.
- The ratio is the same for every width and every initialisation, so a comparison of positions compares nothing else.

Axes: B batch, T time, D width.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from glasshouse.parts.positions.base import Position
from glasshouse.specs.spec_fields import setting


class FixedCode(Position, ABC):
    """x_t + scale * code(t)."""

    @dataclass(frozen=True)
    class Settings:
        position_scale: float = setting(
            0.0, "factor of the positional code; 0 makes it as large as the initial embeddings", minimum=0
        )

    mechanism = "embedding"
    scale: Tensor

    def __init__(self, width: int, scale: float | None = None) -> None:
        """Without a `scale` the factor is 1 until `initialise` sets it."""
        super().__init__()
        self.width, self.follows_embeddings = width, scale is None
        # A factor that `initialise` has set is saved with the weights, because it belongs to the embeddings beside it. A run
        # that starts from these weights keeps it, whatever its own initialisation. Replicas may differ in it.
        self.register_buffer("scale", torch.tensor(1.0 if scale is None else scale), persistent=scale is None)

    @abstractmethod
    def code(self, positions: Tensor) -> Tensor:
        """The vectors (..., T, D) of these positions, before they are scaled."""

    @abstractmethod
    def factor(self, deviation: float) -> float:
        """The factor that makes the code as large as embeddings with entries of this standard deviation."""

    def initialise(self, deviation: float) -> None:
        if self.follows_embeddings:
            self.scale.fill_(self.factor(deviation))

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        return x_BTD + (self.scale * self.code(positions)).to(x_BTD.dtype)
