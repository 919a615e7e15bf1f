"""Cosine attention (Henry et al., Query-Key Normalization for Transformers, 2020).

Axes: B batch, H heads, Q queries, K keys, E head width.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.attention.base import AttentionInputs
from glasshouse.parts.attention.dot_product import DotProductAttention
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

    def mix(self, inputs: AttentionInputs) -> Tensor:
        # `dot_product` divides by sqrt(E), which E g_h makes tau_h. It is fused where nobody watches the weights.
        units_BHQE = F.normalize(inputs.queries, dim=-1) * (self.head_width * self.gain)[:, None, None]
        units_BHKE = F.normalize(inputs.keys, dim=-1)
        inputs.queries, inputs.keys = units_BHQE.to(inputs.values.dtype), units_BHKE.to(inputs.values.dtype)
        return self.dot_product(inputs)
