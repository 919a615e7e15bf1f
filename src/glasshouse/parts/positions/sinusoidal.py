"""Sinusoidal positional encoding: fixed sines and cosines of geometrically spaced wavelengths (Vaswani et al., Attention Is
All You Need, 2017)."""

import torch
from torch import Tensor

from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class Sinusoidal(Position):
    """x_t + [sin(t w_i), cos(t w_i)], w_i = 10000^(-2i/D). Defined at every position; has no parameters."""

    mechanism = "embedding"
    frequencies: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        if width % 2:
            raise SpecError(
                "odd-width",
                f"sinusoidal positions are pairs of sine and cosine, but the width {width} is odd; choose an even width",
            )
        exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
        self.register_buffer("frequencies", 10000.0**-exponents, persistent=False)

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "Sinusoidal":
        return cls(sizes.width)

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        angles = positions[..., None].float() * self.frequencies
        return x_BTD + torch.cat([angles.sin(), angles.cos()], dim=-1).to(x_BTD.dtype)
