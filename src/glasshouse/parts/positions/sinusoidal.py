"""Sinusoidal positional encoding: fixed sines and cosines of geometrically spaced wavelengths (Vaswani et al., Attention Is
All You Need, 2017)."""

import torch
from torch import Tensor

from glasshouse.parts.positions.fixed_code import FixedCode
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError


class Sinusoidal(FixedCode):
    """x_t + s [sin(t w_i), cos(t w_i)], w_i = 10000^(-2i/D). Defined at every position; has no parameters.

    The amplitude s is the standard deviation of the initial embeddings, so that the code has 1 / sqrt(2) of their size, as
    in the paper. The paper multiplies the embeddings by sqrt(D) instead.
    """

    frequencies: Tensor

    def __init__(self, width: int, scale: float | None = None) -> None:
        super().__init__(width, scale)
        if width % 2:
            raise SpecError(
                f"sinusoidal positions are pairs of sine and cosine, but the width {width} is odd; choose an even width"
            )
        exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
        self.register_buffer("frequencies", 10000.0**-exponents, persistent=False)

    @classmethod
    def build(cls, sizes: Sizes, settings: FixedCode.Settings) -> "Sinusoidal":
        return cls(sizes.width, settings.position_scale or None)

    def code(self, positions: Tensor) -> Tensor:
        angles = positions[..., None].float() * self.frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=-1)

    def factor(self, deviation: float) -> float:
        return deviation
