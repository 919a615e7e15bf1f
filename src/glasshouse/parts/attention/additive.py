"""Additive attention (Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and Translate, 2015).

Axes: B batch, H heads, Q queries, K keys, E head width.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.parts.attention.base import Attention, AttentionInputs


class AdditiveAttention(Attention):
    """concat over heads of softmax_j(v_h . tanh(q_i + k_j)) V_h, times W_O: a small network scores each query-key pair.

    Costs n^2 h + n h^2 operations, like dot-product attention. Its n^2 h term is tanh evaluations instead of matrix
    products, and it needs n^2 h memory. Rotary positions act as absolute positions here: only a dot product of rotated
    vectors depends on the distance alone.
    """

    def __init__(self, width: int, heads: int, **options: Any) -> None:
        super().__init__(width, heads, **options)
        self.scorer = nn.Parameter(nn.init.normal_(torch.empty(heads, self.head_width), std=self.head_width**-0.5))

    def keep_heads(self, kept: Sequence[int], name: str = "the attention") -> None:
        super().keep_heads(kept, name)
        self.scorer = nn.Parameter(self.scorer.detach()[list(kept)])

    def mix(self, inputs: AttentionInputs) -> Tensor:
        pairs_BHQKE = torch.tanh(inputs.queries[:, :, :, None] + inputs.keys[:, :, None])
        scores, bias = (pairs_BHQKE @ self.scorer[:, None, :, None])[..., 0], inputs.bias()
        return self.weighted_values(scores if bias is None else scores + bias, inputs.values, inputs.allowed())
