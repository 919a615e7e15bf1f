"""Rotary positional encoding (RoPE): queries and keys are rotated by angles proportional to the position (Su et al.,
RoFormer, 2021).

Axes: B batch, H heads, T time, E head width.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glasshouse.parts.positions.base import Position
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

    def __init__(self, head_width: int, rotary_base: float = 10000.0) -> None:
        super().__init__()
        if head_width % 2:
            raise SpecError(f"rotary positions need an even head width, not {head_width}; change model.heads or model.width")
        self.rotation_key, self.built_for = ("rotary", head_width, rotary_base), ("head_width", head_width)
        exponents = torch.arange(0, head_width, 2, dtype=torch.float32) / head_width
        self.register_buffer("frequencies", rotary_base**-exponents, persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> "Rotary":
        """Move or convert. In a model of 16 bits the frequencies stay in float32: otherwise the angles would be wrong."""
        before = self.frequencies
        super()._apply(fn, recurse)
        if self.frequencies.dtype.itemsize < before.dtype.itemsize:
            self.frequencies = before.to(self.frequencies.device)
        return self

    def rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[..., None].float() * self.frequencies
        if positions.dim() == 2:
            angles = angles[:, None]
        return angles.cos(), angles.sin()

    @property
    def rotation_frequencies(self) -> Tensor:
        return self.frequencies
