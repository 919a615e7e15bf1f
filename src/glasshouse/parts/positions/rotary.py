"""Rotary positions: queries and keys turned by an angle that grows with position (Su et al., RoFormer, 2021).

Axes: B batch, H heads, T time, E head width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


class Rotary(Position):
    """The pair (i, i + E/2) is turned by t w_i, w_i = base^(-2i/E), so that a dot product depends on the distance alone.

    The halves are paired (as in Llama's published code for Hugging Face), not neighbours: weights that expect neighbouring
    pairs need their rows permuted. Angles are computed where they are needed: there is no table to outgrow.
    """

    @dataclass(frozen=True)
    class Settings:
        rotary_base: float = setting(10000.0, "base of the wavelengths (RoPE theta)", minimum=1)

    acts = "rotation"
    frequencies: Tensor

    def __init__(self, head_width: int, base: float = 10000.0) -> None:
        super().__init__()
        if head_width % 2:
            raise SpecError(
                "odd-width",
                f"rotary positions turn pairs and need an even head width, not {head_width}; "
                "change model.heads or model.width",
            )
        exponents = torch.arange(0, head_width, 2, dtype=torch.float32) / head_width
        self.register_buffer("frequencies", base**-exponents, persistent=False)

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings) -> "Rotary":
        return cls(sizes.head_width, settings.rotary_base)

    def check(self, heads: int, head_width: int) -> None:
        if 2 * len(self.frequencies) != head_width:
            raise SpecError(
                "built-for-other-sizes",
                f"Rotary was made for a head width of {2 * len(self.frequencies)}, and the attention has {head_width}",
            )

    def rotate(self, x_BHTE: Tensor, positions: Tensor) -> Tensor:
        angles = positions[..., None].float() * self.frequencies
        if positions.dim() == 2:
            angles = angles[:, None]
        # The angles are float32, and so is the product with a coarser x, until it is rounded back once.
        cosine, sine = angles.cos(), angles.sin()
        first, second = x_BHTE.chunk(2, dim=-1)
        turned = torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
        return turned.to(x_BHTE.dtype)
