"""Dot-product attention whose scores are not divided by the square root of the head width, for ablation studies."""

import math

from torch import Tensor

from glasshouse.parts.attention.base import Attention
from glasshouse.parts.masks import Mask
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings


class UnscaledAttention(Attention):
    """concat over heads of softmax(Q_h K_h^T) V_h, times W_O. Costs what multi-head attention costs.

    The kernels divide by sqrt(E), so the queries are multiplied by it first.
    """

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings, position: Position) -> "UnscaledAttention":
        return cls(sizes.width, sizes.heads, position, sizes.bias, sizes.dropout, head_width=sizes.head_width)

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        scale = math.sqrt(self.head_width)
        return self.dot_product(queries * scale, keys, values, mask, query_positions, key_positions)
