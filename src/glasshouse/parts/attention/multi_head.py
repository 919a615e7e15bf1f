"""Multi-head scaled dot-product attention (Vaswani et al., Attention Is All You Need, 2017).

Axes: B batch, T time, D width, H heads, Q queries, K keys, E head width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.attention import core
from glasshouse.parts.cache import LayerCache
from glasshouse.parts.mask import Mask
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.parts.sizes import Sizes


class MultiHeadAttention(nn.Module):
    """concat over heads of softmax(Q_h K_h^T / sqrt(E)) V_h, times W_O. Costs n^2 D + n D^2.

    Uses the fused kernel unless someone watches the probes `scores` or `weights`, or `plain` is set.
    """

    def __init__(
        self, width: int, heads: int, position: Position | None = None, bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.dropout = dropout
        self.plain = False
        self.position = position or NoPosition()
        # Queries, keys and values in one product: one launch instead of three.
        self.projection = nn.Linear(width, 3 * width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)
        self.queries, self.keys, self.values = Probe(), Probe(), Probe()
        self.scores, self.weights, self.mixed = Probe(), Probe(), Probe()

    @classmethod
    def build(cls, sizes: Sizes, position: Position) -> "MultiHeadAttention":
        return cls(sizes.width, sizes.heads, position, sizes.bias, sizes.dropout)

    def forward(self, x_BTD: Tensor, mask: Mask, positions: Tensor, cache: LayerCache | None = None) -> Tensor:
        queries, keys, values = (self._split(part) for part in self.projection(x_BTD).chunk(3, dim=-1))
        queries, keys = self.position.rotate(queries, keys, positions)
        queries, keys, values = self.queries(queries), self.keys(keys), self.values(values)
        key_positions = positions
        if cache is not None:
            keys, values = cache.extend(keys, values, positions)
            key_positions = torch.arange(keys.shape[2], device=positions.device)
        bias = self.position.bias(positions, key_positions)
        # Without a cache, positions without a batch axis run 0..T-1: then causal is the triangle the kernel knows.
        triangle = mask.plainly_causal and cache is None and positions.dim() == 1 and bias is None
        mixed = self._attend(queries, keys, values, mask, positions, key_positions, bias, triangle)
        mixed = self.mixed(mixed).transpose(1, 2).flatten(2)
        return self.output(mixed)

    def _attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Mask,
        positions: Tensor,
        key_positions: Tensor,
        bias: Tensor | None,
        triangle: bool,
    ) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        watched = self.plain or self.weights.watched or self.scores.watched
        if triangle and not watched:
            return core.fused(queries, keys, values, None, None, causal=True, dropout=dropout)
        allowed = mask.allowed(positions, key_positions)
        if allowed is not None and allowed.dim() == 3:
            allowed = allowed[:, None]
        if not watched:
            return core.fused(queries, keys, values, allowed, bias, causal=False, dropout=dropout)
        scores = self.scores(core.scores(queries, keys, bias))
        weights = self.weights(core.weights(scores, allowed))
        return F.dropout(weights, dropout) @ values

    def _split(self, x_BTD: Tensor) -> Tensor:
        return x_BTD.unflatten(-1, (self.heads, self.width // self.heads)).transpose(1, 2)

    def flops(self, queries: int, keys: int) -> int:
        """Matrix multiplications and additions for one sequence, forward, the whole square counted."""
        projections = 2 * queries * self.width * 4 * self.width
        return projections + 4 * queries * keys * self.width
