"""What every attention is: queries, keys and values from projections, something that mixes the values, an output matrix.

Axes: B batch, T time, D width, H heads, G heads of keys and values, Q queries, K keys, E head width.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.attention import scaled_dot_product
from glasshouse.parts.cache import LayerCache, positions_of
from glasshouse.parts.capabilities import Unsupported, require
from glasshouse.parts.masks import Everything, Mask
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError


class Attention(nn.Module, ABC):
    """Projections around `mix`, which is all that a kind of attention has to say.

    `plain` asks for the definition instead of a fast path; so does watching the probes `scores` or `weights`.
    """

    unsupported: ClassVar[Unsupported] = {}

    def __init__(
        self,
        width: int,
        heads: int,
        position: Position | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        key_value_heads: int = 0,
        head_width: int = 0,
    ) -> None:
        super().__init__()
        if width % heads and not head_width:
            raise SpecError(
                "heads-divide-width", f"heads={heads} does not divide width={width}; choose a divisor, or give head_width"
            )
        self.width, self.heads = width, heads
        self.key_value_heads = key_value_heads or heads
        self.head_width = head_width or width // heads
        self.dropout = dropout
        self.plain = False
        self.position = position or NoPosition()
        if self.position.acts == "embedding":
            raise SpecError(
                "position-in-wrong-place",
                f"{type(self.position).__name__} acts at the embeddings and would do nothing in an attention",
            )
        if self.position.acts:
            require(type(self), self.position.acts, f"{type(self).__name__} with {type(self.position).__name__}")
        self.position.check(heads, self.head_width)
        # Queries, keys and values in one product: one launch instead of three.
        self._parts = [heads * self.head_width] + 2 * [self.key_value_heads * self.head_width]
        self.projection = nn.Linear(width, sum(self._parts), bias=bias)
        self.output = nn.Linear(heads * self.head_width, width, bias=bias)
        self.queries, self.keys, self.values, self.mixed = Probe(), Probe(), Probe(), Probe()
        if "rows" not in self.unsupported:
            self.scores, self.weights = Probe(), Probe()

    @classmethod
    @abstractmethod
    def build(cls, sizes: Sizes, settings: Any, position: Position) -> "Attention":
        """The attention of these sizes; `settings` is an instance of the class's own `Settings`, where it declares some."""

    @abstractmethod
    def mix(
        self,
        queries_BHQE: Tensor,
        keys_BGKE: Tensor,
        values_BGKE: Tensor,
        mask: Mask,
        query_positions: Tensor,
        key_positions: Tensor,
    ) -> Tensor:
        """Values gathered by each query, (B, H, Q, E). Where both are the same positions, they run from 0."""

    def forward(
        self,
        x_BTD: Tensor,
        mask: Mask | None = None,
        positions: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Self-attention: every token asks, and every token the mask allows (by default all) answers.

        Without positions the tokens stand at 0, 1, 2 and so on.
        """
        mask = mask or Everything()
        if positions is None:
            positions = torch.arange(x_BTD.shape[1], device=x_BTD.device)
        parts = self.projection(x_BTD).split(self._parts, dim=-1)
        queries, keys, values = (self._split(part) for part in parts)
        keys, values = self.keys(self.position.rotate(keys, positions)), self.values(values)
        key_positions = positions
        if cache is not None:
            keys, values = cache.extend(keys, values, positions)
            key_positions = positions_of(keys)
        return self._gather(queries, keys, values, mask, positions, key_positions)

    def look(self, x_BTD: Tensor, keys: Tensor, values: Tensor, mask: Mask, positions: Tensor) -> Tensor:
        """Cross-attention: tokens ask, and what `remember` kept of another sequence answers."""
        weight, bias = self.projection.weight, self.projection.bias
        rows = self._parts[0]
        queries = self._split(F.linear(x_BTD, weight[:rows], None if bias is None else bias[:rows]))
        return self._gather(queries, keys, values, mask, positions, positions_of(keys))

    def remember(self, source_BKD: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values (B, G, K, E) of a sequence that others will look at."""
        weight, bias = self.projection.weight, self.projection.bias
        rows = self._parts[0]
        both = F.linear(source_BKD, weight[rows:], None if bias is None else bias[rows:])
        keys, values = (self._split(part) for part in both.split(self._parts[1:], dim=-1))
        return self.keys(keys), self.values(values)

    def _gather(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        queries = self.queries(self.position.rotate(queries, query_positions))
        mixed = self.mixed(self.mix(queries, keys, values, mask, query_positions, key_positions))
        return self.output(mixed.transpose(1, 2).flatten(2))

    @property
    def watched(self) -> bool:
        """Whether the weights themselves are wanted."""
        return self.plain or self.weights.watched or self.scores.watched

    def dot_product(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        """softmax(Q K^T / sqrt(E) + bias) V, fused where nobody looks: the mix of most kinds, or a part of it."""
        dropout = self.dropout if self.training else 0.0
        bias = self.position.bias(query_positions, key_positions)
        aligned = query_positions is key_positions and query_positions.dim() == 1
        if mask.plainly_causal and aligned and bias is None and not self.watched:
            return scaled_dot_product.fused(queries, keys, values, None, None, causal=True, dropout=dropout)
        allowed = scaled_dot_product.allowed_over_heads(mask, query_positions, key_positions)
        if not self.watched:
            return scaled_dot_product.fused(queries, keys, values, allowed, bias, causal=False, dropout=dropout)
        keys, values = scaled_dot_product.each(keys, self.heads), scaled_dot_product.each(values, self.heads)
        return self.weigh(scaled_dot_product.scores(queries, keys, bias), values, allowed)

    def weigh(self, scores_BHQK: Tensor, values_BHKE: Tensor, allowed: Tensor | None) -> Tensor:
        """The values by the softmax of their scores, past the probes."""
        weights = self.weights(scaled_dot_product.weights(self.scores(scores_BHQK), allowed))
        return F.dropout(weights, self.dropout, self.training) @ values_BHKE

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_width)).transpose(1, 2)

    def limit(self) -> int | None:
        """The first length this attention cannot take, or None where there is none."""
        return None

    def flops(self, queries: int, keys: int, causal: bool) -> int:
        """Matrix multiplications and additions for one sequence, forward, by the fast path under that mask."""
        across = self.heads * self.head_width
        projections = 2 * self.width * (2 * queries * across + 2 * keys * self.key_value_heads * self.head_width)
        return projections + self.mix_flops(queries, keys, causal)

    def mix_flops(self, queries: int, keys: int, causal: bool) -> int:
        """Those of `mix`; for most kinds scores and values, the whole square counted."""
        return 4 * queries * keys * self.heads * self.head_width
