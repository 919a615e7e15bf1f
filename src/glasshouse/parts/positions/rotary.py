"""Rotary positional encoding (RoPE): queries and keys are rotated by angles proportional to the position (Su et al.,
RoFormer, 2021).

Axes: B batch, H heads, T time, E head width.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glasshouse import cpu_kernels
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


class Rotary(Position):
    """Rotates the features (i, i + E/2) by the angle t w_i, w_i = base^(-2i/E). Dot products then depend only on distance.

    Feature i is paired with feature i + E/2, as in Hugging Face's Llama. Weights that expect neighbouring pairs (2i, 2i + 1)
    need their rows permuted. Angles are computed on the fly, so every position is defined. It has no parameters.
    """

    @dataclass(frozen=True)
    class Settings:
        rotary_base: float = setting(10000.0, "base of the wavelengths (RoPE theta)", minimum=1)

    mechanism = "rotation"
    frequencies: Tensor

    def __init__(self, head_width: int, base: float = 10000.0) -> None:
        super().__init__()
        if head_width % 2:
            raise SpecError(
                f"rotary positions rotate pairs of features, but the head width {head_width} is odd; "
                "change model.heads or model.width"
            )
        self.key = ("rotary", head_width, base)  # parts with the same key rotate alike
        exponents = torch.arange(0, head_width, 2, dtype=torch.float32) / head_width
        self.register_buffer("frequencies", base**-exponents, persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> "Rotary":
        """Move or convert. In a model of 16 bits the frequencies stay in float32: otherwise the angles would be wrong."""
        before = self.frequencies
        super()._apply(fn, recurse)
        if self.frequencies.dtype.itemsize < before.dtype.itemsize:
            self.frequencies = before.to(self.frequencies.device)
        return self

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings) -> "Rotary":
        return cls(sizes.head_width, settings.rotary_base)

    def check(self, heads: int, head_width: int) -> None:
        if 2 * len(self.frequencies) != head_width:
            raise SpecError(
                f"Rotary was built for a head width of {2 * len(self.frequencies)}, but the attention has {head_width}; "
                f"use Rotary(head_width={head_width})"
            )

    def rotate(self, x_BHTE: Tensor, positions: Tensor) -> Tensor:
        return rotate_by(x_BHTE, *self.cosine_and_sine(positions))

    def cosine_and_sine(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """The cosine and sine of the angles at positions (T) or (B, T): (T, E/2) or (B, 1, T, E/2)."""
        angles = positions[..., None].float() * self.frequencies
        if positions.dim() == 2:
            angles = angles[:, None]
        return angles.cos(), angles.sin()


def rotate_by(x_BHTE: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The features (i, i + E/2), rotated."""
    if cosine.dim() == 2 and cpu_kernels.usable(x_BHTE):
        return cpu_kernels.rotate(x_BHTE, cosine, sine)
    # The angles are float32. The products stay in float32 and are rounded to the dtype of x only once, at the end.
    first, second = x_BHTE.chunk(2, dim=-1)
    rotated = torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
    return rotated.to(x_BHTE.dtype)
