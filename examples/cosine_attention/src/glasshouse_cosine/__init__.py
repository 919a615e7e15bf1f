"""Cosine attention (Henry et al., Query-Key Normalization for Transformers, 2020).

Axes: B batch, H heads, Q queries, K keys, E head width.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.attention.dot_product import DotProductAttention
from glasshouse.parts.masks import Mask
from glasshouse.parts.positions.base import Position


class CosineAttention(DotProductAttention):
    """concat over heads of softmax_j(tau_h cos(q_i, k_j)) V_h, times W_O: how long queries and keys are plays no part.

    tau_h = sqrt(E) g_h, with a learned g_h for each head that starts at 1: there the scores are those of a dot product
    between vectors of unit variance. (The paper has its temperature start from the length of its texts.) Costs n^2 h + n h^2
    like the dot product, and n h more for the lengths. A rotation leaves a vector's length as it is, so positions may turn
    queries and keys before they are made units.
    """

    mixes_by_dot_product = False  # it changes queries and keys first

    def __init__(self, width: int, heads: int, position: Position | None = None, **options: Any) -> None:
        super().__init__(width, heads, position, **options)
        self.gain = nn.Parameter(torch.ones(heads))

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        # `dot_product` divides by sqrt(E), which E g_h makes tau_h. It is fused where nobody watches the weights.
        units_BHQE = F.normalize(queries, dim=-1) * (self.head_width * self.gain)[:, None, None]
        units_BHKE = F.normalize(keys, dim=-1)
        kind = values.dtype
        return self.dot_product(units_BHQE.to(kind), units_BHKE.to(kind), values, mask, query_positions, key_positions)
