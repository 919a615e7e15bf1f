"""Local attention: each token attends to a window around it (Beltagy et al., Longformer, 2020; Child et al., Sparse
Transformers, 2019).

Axes: B batch, H heads, T time, E head width, C chunks, W window, S keys per chunk.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.attention import scaled_dot_product
from glasshouse.parts.attention.base import AttentionInputs
from glasshouse.parts.attention.dot_product import DotProductAttention, DotProductSettings
from glasshouse.parts.masks import Window
from glasshouse.specs.spec_fields import setting


class LocalAttention(DotProductAttention):
    """softmax(Q_h K_h^T / sqrt(E)) V_h over keys at a distance below w. Costs n w h + n h^2 operations: linear in n.

    The sequence is split into chunks of w tokens. The queries of a chunk only need the keys of this chunk and its
    neighbours, so only these scores are computed. The result equals dense attention with the mask `Window(w)`.
    """

    @dataclass(frozen=True)
    class Settings(DotProductSettings):
        window: int = setting(
            0, "distance at which the window ends; 0 means a quarter of the context", minimum=0, maximum=10_000_000
        )

    mixes_by_dot_product = False
    unsupported: ClassVar[dict[str, str]] = {
        "cross": "tokens of two sequences have no distance, so there is no window between them; "
        "choose another model.attention for an encoder-decoder"
    }

    def __init__(self, width: int, heads: int, window: int = 0, context: int = 1, **options: Any) -> None:
        super().__init__(width, heads, **options)
        self.window = window or max(context // 4, 1)

    def mix(self, inputs: AttentionInputs) -> Tensor:
        inputs.mask = inputs.mask & Window(self.window)
        if inputs.aligned and not self.needs_weights and inputs.queries.shape[2] > self.window:
            return self._mix_chunks(inputs)
        return self.dot_product(inputs)

    def _mix_chunks(self, inputs: AttentionInputs) -> Tensor:
        batch, _, length, _ = inputs.queries.shape
        window, lookahead = self.window, 0 if inputs.mask.causal else self.window
        chunks = -(-length // window)
        padding = chunks * window - length
        queries = F.pad(inputs.queries, (0, 0, 0, padding)).unflatten(2, (chunks, window))
        # Chunk c needs the keys from position (c - 1) w to its own end, or to the end of the next chunk if not causal.
        span = 2 * window + lookahead
        keys, values = (
            F.pad(x, (0, 0, window, padding + lookahead)).unfold(2, span, window).transpose(-2, -1)
            for x in (inputs.keys, inputs.values)
        )
        chunk_starts = torch.arange(chunks, device=queries.device)[None, :, None] * window
        query_positions = chunk_starts + torch.arange(window, device=queries.device)
        key_positions = chunk_starts - window + torch.arange(span, device=queries.device)
        in_sequence = (key_positions >= 0) & (key_positions < length)
        allowed = inputs.mask.allowed(query_positions, key_positions)
        assert allowed is not None
        allowed = (allowed & in_sequence[..., None, :])[:, :, None]
        bias = self.position.bias(query_positions, key_positions)

        def chunks_to_batch(x_BHCTE: Tensor) -> Tensor:
            return x_BHCTE.transpose(1, 2).flatten(0, 1)

        def repeat_over_batch(x: Tensor) -> Tensor:
            return x.expand(batch, chunks, *x.shape[2:]).flatten(0, 1)

        queries, keys, values = (chunks_to_batch(x) for x in (queries, keys, values))
        allowed, bias = repeat_over_batch(allowed), None if bias is None else repeat_over_batch(bias)
        if self.softcap:
            scores = scaled_dot_product.scores(queries, keys, bias, self.softcap)
            mixed = self.weighted_values(scores, values, allowed)
        else:
            mixed = scaled_dot_product.fused(queries, keys, values, allowed, bias, causal=False, dropout=inputs.dropout)
        mixed = mixed.unflatten(0, (batch, chunks)).transpose(1, 2)
        return mixed.flatten(2, 3)[:, :, :length]

    def mix_flops(self, queries: int, keys: int, causal: bool) -> int:
        if queries <= self.window:
            return super().mix_flops(queries, keys, causal)
        chunks = -(-queries // self.window)
        span = (2 if causal else 3) * self.window
        return 4 * chunks * self.window * span * self.heads * self.head_width
