"""Attention to a local window (Beltagy et al., Longformer, 2020; Child et al., Sparse Transformers, 2019).

Axes: B batch, H heads, T time, E head width, C chunks, W window, S keys that a chunk sees.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.attention import scaled_dot_product
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.masks import Mask, Window
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_fields import setting


class LocalAttention(Attention):
    """softmax(Q_h K_h^T / sqrt(E)) V_h over keys less than w away. Costs n w h + n h^2: linear in n.

    A sequence is cut into chunks of w; the queries of a chunk see keys in their own chunk and its neighbours only, so that
    is all that is computed. The definition is dense attention under the mask `Window(w)`.
    """

    @dataclass(frozen=True)
    class Settings:
        window: int = setting(0, "distance at which the window ends; 0 means a quarter of the context", minimum=0)

    unsupported: ClassVar[Unsupported] = {
        "cross": "a window is a distance, and tokens of two sequences have none; "
        "choose another model.attention for an encoder-decoder"
    }

    def __init__(
        self,
        width: int,
        heads: int,
        window: int,
        position: Position | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        head_width: int = 0,
    ) -> None:
        super().__init__(width, heads, position, bias, dropout, head_width=head_width)
        self.window = window

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings, position: Position) -> "LocalAttention":
        window = settings.window or max(sizes.context // 4, 1)
        more = (position, sizes.bias, sizes.dropout)
        return cls(sizes.width, sizes.heads, window, *more, head_width=sizes.head_width)

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        aligned = query_positions is key_positions and query_positions.dim() == 1
        if aligned and not self.watched and queries.shape[2] > self.window:
            return self._by_chunks(queries, keys, values, mask & Window(self.window))
        return self.dot_product(queries, keys, values, mask & Window(self.window), query_positions, key_positions)

    def _by_chunks(self, queries_BHTE: Tensor, keys_BHTE: Tensor, values_BHTE: Tensor, mask: Mask) -> Tensor:
        batch, _, length, _ = queries_BHTE.shape
        window, after = self.window, 0 if mask.causal else self.window
        chunks = -(-length // window)
        short = chunks * window - length
        queries = F.pad(queries_BHTE, (0, 0, 0, short)).unflatten(2, (chunks, window))
        # Chunk c sees the positions from (c - 1) w to its own end, or to the end of the next chunk.
        span = 2 * window + after
        keys, values = (
            F.pad(x, (0, 0, window, short + after)).unfold(2, span, window).transpose(-2, -1)
            for x in (keys_BHTE, values_BHTE)
        )
        begin = torch.arange(chunks, device=queries.device)[None, :, None] * window
        query_positions = begin + torch.arange(window, device=queries.device)
        key_positions = begin - window + torch.arange(span, device=queries.device)
        real = (key_positions >= 0) & (key_positions < length)
        allowed = mask.allowed(query_positions, key_positions)
        assert allowed is not None
        allowed = (allowed & real[..., None, :])[:, :, None]
        bias = self.position.bias(query_positions, key_positions)

        def folded(x_BHCTE: Tensor) -> Tensor:
            return x_BHCTE.transpose(1, 2).flatten(0, 1)

        def spread(x: Tensor) -> Tensor:
            return x.expand(batch, chunks, *x.shape[2:]).flatten(0, 1)

        mixed = scaled_dot_product.fused(
            folded(queries),
            folded(keys),
            folded(values),
            spread(allowed),
            None if bias is None else spread(bias),
            causal=False,
            dropout=self.dropout if self.training else 0.0,
        )
        mixed = mixed.unflatten(0, (batch, chunks)).transpose(1, 2)
        return mixed.flatten(2, 3)[:, :, :length]

    def mix_flops(self, queries: int, keys: int, causal: bool) -> int:
        if queries <= self.window:
            return super().mix_flops(queries, keys, causal)
        chunks = -(-queries // self.window)
        span = (2 if causal else 3) * self.window
        return 4 * chunks * self.window * span * self.heads * self.head_width
