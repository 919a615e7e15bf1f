"""Normalisation: each token's vector brought to unit scale, with a learned gain."""

from torch import nn

from glasshouse.parts.sizes import Sizes

EPSILON = 1e-5


class LayerNorm(nn.LayerNorm):
    """(x - mean) / deviation * gain + bias (Ba et al., Layer Normalization, 2016)."""

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__(width, eps=EPSILON, bias=bias)

    @classmethod
    def build(cls, sizes: Sizes) -> "LayerNorm":
        return cls(sizes.width, sizes.bias)


class RMSNorm(nn.RMSNorm):
    """x / root mean square * gain (Zhang and Sennrich, Root Mean Square Layer Normalization, 2019)."""

    def __init__(self, width: int) -> None:
        super().__init__(width, eps=EPSILON)

    @classmethod
    def build(cls, sizes: Sizes) -> "RMSNorm":
        return cls(sizes.width)
