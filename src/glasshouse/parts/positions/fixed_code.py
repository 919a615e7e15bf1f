"""Fixed positional codes: vectors that are added to the embeddings and are not trained. Their size follows the embeddings.

Vaswani et al. (Attention Is All You Need, 2017) multiply the embeddings by sqrt(width) before they add sines of amplitude 1.
Here the code is scaled to the embeddings instead, which gives the same ratio: at every width and initialisation, for tokens
and for patches, and without a factor in front of an embedding matrix that may be the output matrix too.

Axes: B batch, T time, D width.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.positions.base import Position
from glasshouse.specs.errors import SpecError
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

    def __init__(self, width: int, position_scale: float = 0.0) -> None:
        """With a `position_scale` of 0 the factor is 1 until `initialise` sets it."""
        super().__init__()
        self.width, self.follows_embeddings = width, not position_scale
        # A factor that `initialise` has set is saved with the weights, because it belongs to the embeddings beside it. A run
        # that starts from these weights keeps it, whatever its own initialisation. Replicas may differ in it.
        self.register_buffer("scale", torch.tensor(position_scale or 1.0), persistent=not position_scale)

    @abstractmethod
    def code(self, positions: Tensor) -> Tensor:
        """The vectors (..., T, D) of these positions, before they are scaled."""

    def factor(self, deviation: float) -> float:
        """The factor that makes the code as large as embeddings with entries of this standard deviation."""
        return deviation

    def initialise(self, deviation: float) -> None:
        if self.follows_embeddings:
            self.scale.fill_(self.factor(deviation))

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        return x_BTD + (self.scale * self.code(positions)).to(x_BTD.dtype)


class Sinusoidal(FixedCode):
    """Sinusoidal positional encoding: fixed sines and cosines of geometrically spaced wavelengths (Vaswani et al., Attention
    Is All You Need, 2017).

    x_t + s [sin(t w_i), cos(t w_i)], w_i = 10000^(-2i/D). Defined at every position; has no parameters. The amplitude s is
    the standard deviation of the initial embeddings, so that the code has 1 / sqrt(2) of their size, as in the paper. The
    paper multiplies the embeddings by sqrt(D) instead.
    """

    frequencies: Tensor

    def __init__(self, width: int, position_scale: float = 0.0) -> None:
        super().__init__(width, position_scale)
        if width % 2:
            raise SpecError(f"sinusoidal positions are pairs of sine and cosine; choose an even width, not {width}")
        exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
        self.register_buffer("frequencies", 10000.0**-exponents, persistent=False)

    def code(self, positions: Tensor) -> Tensor:
        angles = positions[..., None].float() * self.frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class OneHot(FixedCode):
    """One-hot positional encoding: one feature for each position.

    x_t + s e_t, e_t being 1 in feature t and 0 elsewhere. Has no parameters; the width must be at least the context. The
    factor s is the standard deviation of the initial embeddings times sqrt(D), because e_t has a root mean square of 1 /
    sqrt(D). The code is then as large as the embeddings.
    """

    unsupported: ClassVar[dict[str, str]] = {"longer": "it has no vector for a position beyond the context it was built for"}

    def __init__(self, context: int, width: int, position_scale: float = 0.0) -> None:
        super().__init__(width, position_scale)
        if context > width:
            reason = f"one-hot positions need a feature for each of data.context={context} positions"
            raise SpecError(f"{reason}, and model.width={width} is fewer; increase the width or shorten the context")
        self.max_length = context

    def code(self, positions: Tensor) -> Tensor:
        return F.one_hot(positions, self.width)

    def factor(self, deviation: float) -> float:
        return deviation * self.width**0.5
