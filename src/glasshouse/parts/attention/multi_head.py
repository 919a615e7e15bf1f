"""Multi-head scaled dot-product attention (Vaswani et al., Attention Is All You Need, 2017)."""

from torch import Tensor

from glasshouse.parts.attention.base import Attention, DotProductSettings
from glasshouse.parts.masks import Mask
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes


class MultiHeadAttention(Attention):
    """concat over heads of softmax(Q_h K_h^T / sqrt(E)) V_h, times W_O.

    Costs n^2 h + n h^2 operations, h being the width. Needs n h memory, or n^2 per head if the weights are recorded.

    With `attention_softcap` = c the scores are c tanh(Q_h K_h^T / sqrt(E) / c), so that none is beyond c (Gemma 2, 2024).
    No fused kernel computes that, so it needs n^2 memory per head.
    """

    Settings = DotProductSettings

    mixes_by_dot_product = True

    @classmethod
    def build(cls, sizes: Sizes, settings: DotProductSettings, position: Position) -> "MultiHeadAttention":
        return cls(
            sizes.width,
            sizes.heads,
            position,
            sizes.bias,
            sizes.dropout,
            head_width=sizes.head_width,
            query_key_norm=settings.query_key_norm,
            value_residual=settings.value_residual,
            softcap=settings.attention_softcap,
        )

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        return self.dot_product(queries, keys, values, mask, query_positions, key_positions)
