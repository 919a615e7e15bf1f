"""Linformer: keys and values are projected along the sequence to a fixed, smaller number (Wang et al., Linformer, 2020).

Axes: B batch, H heads, Q queries, K keys, R rank, E head width.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.parts.attention import scaled_dot_product
from glasshouse.parts.attention.base import Attention, AttentionInputs
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec_fields import setting

_MIXED = "Linformer mixes all keys before any query attends to them"


class LinformerAttention(Attention):
    """softmax(Q_h (C K_h)^T / sqrt(E)) D V_h. The learned matrices C and D have r rows and one column per position.

    Costs n r h + n h^2 operations: linear in n. Masked keys are set to zero before they are mixed, so padding changes
    nothing. A mask that differs between queries is not possible.
    """

    @dataclass(frozen=True)
    class Settings:
        rank: int = setting(0, "keys after the projection; 0 means a quarter of the context", minimum=0, maximum=10_000_000)

    unsupported: ClassVar[dict[str, str]] = {
        "causal": f"{_MIXED}, so a query would see later tokens; use it in encoders that are not causal",
        "tokens": "its attention weights are over mixtures of tokens",
        "bias": f"{_MIXED}, so a score has no single distance; choose model.position=rotary, sinusoidal or learned",
        "longer": "its matrices have one column for each position of the context it was built for",
    }

    def __init__(self, width: int, heads: int, context: int, rank: int = 0, **options: Any) -> None:
        super().__init__(width, heads, **options)
        self.max_length, rank = context, rank or max(context // 4, 1)
        self.key_mixture = nn.Parameter(nn.init.normal_(torch.empty(rank, context), std=context**-0.5))
        self.value_mixture = nn.Parameter(nn.init.normal_(torch.empty(rank, context), std=context**-0.5))

    def mix(self, inputs: AttentionInputs) -> Tensor:
        queries, keys, values = inputs.tensors
        length = keys.shape[2]
        allowed = inputs.mask.allowed(inputs.query_positions, inputs.key_positions)
        # A padding mask has one row for all queries, so it can be applied to the keys.
        if allowed is not None and allowed.shape[-2] > 1:
            raise GlasshouseError(f"{_MIXED}; use a mask that is the same for all queries, or another attention")
        if allowed is not None:
            hidden = ~(allowed if allowed.dim() == 2 else allowed[:, None]).transpose(-2, -1)
            keys, values = keys.masked_fill(hidden, 0.0), values.masked_fill(hidden, 0.0)
        keys = self.key_mixture[:, :length].to(keys.dtype) @ keys
        values = self.value_mixture[:, :length].to(values.dtype) @ values
        if not self.needs_weights:
            return scaled_dot_product.fused(queries, keys, values, None, None, False, inputs.dropout)
        return self.weighted_values(scaled_dot_product.scores(queries, keys, None), values, None)

    def mix_flops(self, queries: int, keys: int, causal: bool) -> int:
        inner_width = self.heads * self.head_width
        rank = self.key_mixture.shape[0]
        return 4 * rank * keys * inner_width + 4 * queries * rank * inner_width
