"""The base class of attentions: project to queries, keys and values, mix the values, project the result.

Axes: B batch, T time, D width, H heads, G key-value heads, Q queries, K keys, E head width.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse import cpu_kernels
from glasshouse.parts.attention import scaled_dot_product
from glasshouse.parts.cache import LayerCache, slot_positions
from glasshouse.parts.capabilities import require
from glasshouse.parts.linear import Linear, linear
from glasshouse.parts.masks import Everything, Mask
from glasshouse.parts.normalisation import EPSILON
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.specs.errors import SpecError

# Holds the values (B, G, T, E) of the first attention of a stack, which later ones mix with their own (value residual).
FirstValues = list[Tensor]


@dataclass
class AttentionInputs:
    """Queries (B, H, Q, E), keys and values (B, G, K, E), the positions of both, and what limits and biases their scores."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    mask: Mask
    query_positions: Tensor
    key_positions: Tensor
    position: Position
    dropout: float

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.queries, self.keys, self.values

    @property
    def aligned(self) -> bool:
        """Whether the positions of queries and keys are 0, 1, 2, ..."""
        return self.query_positions is self.key_positions and self.query_positions.dim() == 1

    @property
    def biased(self) -> bool:
        return self.position.mechanism == "bias"

    def bias(self) -> Tensor | None:
        return self.position.bias(self.query_positions, self.key_positions)

    def allowed(self) -> Tensor | None:
        return scaled_dot_product.allowed_over_heads(self.mask, self.query_positions, self.key_positions)


class HeadNorm(nn.Module):
    """x / root mean square * gain over the features of a head. All heads share the gain."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(head_width))

    def forward(self, x_BHTE: Tensor) -> Tensor:
        if cpu_kernels.usable(x_BHTE, self.weight):
            return cpu_kernels.rms_norm(x_BHTE, self.weight, EPSILON)
        return F.rms_norm(x_BHTE, self.weight.shape, self.weight.to(x_BHTE.dtype), EPSILON).to(x_BHTE.dtype)


class Attention(nn.Module, ABC):
    """Projections around `mix` of a subclass. `plain = True`, or a hook on `scores` or `weights`, turns fast paths off."""

    unsupported: ClassVar[dict[str, str]] = {}
    # The longest sequence that it accepts; None for no limit.
    max_length: int | None = None
    # Whether `mix` is `dot_product` and nothing else. Then a step of generation has a kernel of its own.
    mixes_by_dot_product: ClassVar[bool] = False

    def __init__(
        self,
        width: int,
        heads: int,
        position: Position | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        key_value_heads: int = 0,
        head_width: int = 0,
        query_key_norm: bool = False,
        value_residual: bool = False,
    ) -> None:
        super().__init__()
        if width % heads and not head_width:
            raise SpecError(f"does not divide width={width}; choose a divisor, or set head_width", "heads", heads)
        self.width, self.heads = width, heads
        self.key_value_heads = key_value_heads or heads
        self.head_width = head_width or width // heads
        self.dropout = dropout
        self.plain = False
        self.position = position or NoPosition()
        if self.position.mechanism == "embedding":
            raise SpecError(f"{type(self.position).__name__} is added to the embeddings; pass it to the model instead")
        if self.position.mechanism:
            require(type(self), self.position.mechanism, f"{type(self).__name__} with {type(self.position).__name__}")
        if self.position.built_for is not None:
            name, size = self.position.built_for
            if size != getattr(self, name):
                kind = type(self.position).__name__
                raise SpecError(f"{kind} was built for {name}={size}; build it with {name}={getattr(self, name)}")
        # One matrix product gives queries, keys and values: one kernel launch instead of three.
        self.projection: nn.Linear = Linear(width, sum(self.projection_sizes), bias=bias)
        self.output: nn.Linear = Linear(heads * self.head_width, width, bias=bias)
        # Scores of normalised queries and keys cannot grow without bound (Henry et al., Query-Key Normalization, 2020).
        self.query_norm: nn.Module = HeadNorm(self.head_width) if query_key_norm else nn.Identity()
        self.key_norm: nn.Module = HeadNorm(self.head_width) if query_key_norm else nn.Identity()
        # Twice the weights of an attention's own values and of the first one's (Zhou et al., Value Residual Learning, 2024).
        self.value_shares = nn.Parameter(torch.ones(2)) if value_residual else None
        self.queries, self.keys, self.values, self.mixed = Probe(), Probe(), Probe(), Probe()
        if "rows" not in self.unsupported:
            self.scores, self.weights = Probe(), Probe()

    @abstractmethod
    def mix(self, inputs: AttentionInputs) -> Tensor:
        """The mixed values (B, H, Q, E)."""

    def forward(
        self,
        x_BTD: Tensor,
        mask: Mask | None = None,
        positions: Tensor | None = None,
        cache: LayerCache | None = None,
        first_values: FirstValues | None = None,
    ) -> Tensor:
        """Self-attention. By default each token attends to all, and the positions are 0, 1, 2, ..."""
        mask = mask or Everything()
        if positions is None:
            positions = torch.arange(x_BTD.shape[1], device=x_BTD.device)
        projected = self.projection(x_BTD).split(self.projection_sizes, dim=-1)
        queries, keys, values = (self._split_heads(x) for x in projected)
        queries, keys = self.query_norm(queries), self.key_norm(keys)
        if self.value_shares is not None:
            own, first = (self.value_shares / 2).unbind()
            if first_values is not None and not first_values:
                first_values.append(values)
            values = own * values + first * (first_values[0] if first_values else values)
        if cache is not None and (mixed := self.decode(queries, keys, values, mask, positions, cache)) is not None:
            return self._joined(mixed)
        keys, values = self.keys(self.position.rotate(keys, positions)), self.values(values)
        key_positions = positions
        if cache is not None:
            keys, values = cache.extend(keys, values, positions)
            key_positions = slot_positions(keys)
        return self._attend(queries, keys, values, mask, positions, key_positions)

    def decode(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, positions: Tensor, cache: LayerCache
    ) -> Tensor | None:
        """The mixed values of new tokens, which are written to the cache, by a faster way than `mix`; None without one."""
        return None

    def attend_to(self, x_BTD: Tensor, keys: Tensor, values: Tensor, mask: Mask, positions: Tensor) -> Tensor:
        """Cross-attention: tokens attend to the `keys_and_values` of another sequence."""
        weight, bias = self.projection.weight, self.projection.bias
        rows = self.projection_sizes[0]
        queries = self.query_norm(self._split_heads(linear(x_BTD, weight[:rows], None if bias is None else bias[:rows])))
        return self._attend(queries, keys, values, mask, positions, slot_positions(keys))

    def keys_and_values(self, source_BKD: Tensor) -> tuple[Tensor, Tensor]:
        """Project a sequence to the keys and values (B, G, K, E) that another sequence attends to."""
        weight, bias = self.projection.weight, self.projection.bias
        rows = self.projection_sizes[0]
        projected = linear(source_BKD, weight[rows:], None if bias is None else bias[rows:])
        keys, values = (self._split_heads(x) for x in projected.split(self.projection_sizes[1:], dim=-1))
        return self.keys(self.key_norm(keys)), self.values(values)

    def _attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        queries = self.queries(self.position.rotate(queries, query_positions))
        dropout = self.dropout if self.training else 0.0
        inputs = AttentionInputs(queries, keys, values, mask, query_positions, key_positions, self.position, dropout)
        return self._joined(self.mix(inputs))

    def _joined(self, mixed_BHQE: Tensor) -> Tensor:
        return self.output(self.mixed(mixed_BHQE).transpose(1, 2).flatten(2))

    @property
    def projection_sizes(self) -> tuple[int, ...]:
        keys = self.key_value_heads * self.head_width
        return self.heads * self.head_width, keys, keys

    @property
    def needs_weights(self) -> bool:
        """Whether the attention weights must be formed, so that no fused kernel can be used."""
        return self.plain or self.weights.hooked or self.scores.hooked

    def weighted_values(self, scores_BHQK: Tensor, values_BHKE: Tensor, allowed: Tensor | None) -> Tensor:
        """softmax(scores) V, through the probes `scores` and `weights`."""
        weights = self.weights(scaled_dot_product.weights(self.scores(scores_BHQK), allowed))
        return F.dropout(weights, self.dropout, self.training) @ values_BHKE

    def keep_heads(self, kept: Sequence[int], name: str = "the attention") -> None:
        """Remove all other heads, counted from 0. Heads that share keys and values stay or go together."""
        if self.value_shares is not None:
            raise SpecError(f"{name} mixes in the values of the first block's heads; train with model.value_residual=false")
        size = self.heads // self.key_value_heads
        groups = [group for group in range(self.key_value_heads) if group * size in kept]
        if list(kept) != [group * size + head for group in groups for head in range(size)]:
            group = ", ".join(str(head + 1) for head in range(size))
            raise SpecError(f"{size} heads of {name} share keys and values; remove all heads of a group, such as {group}")
        # Rows of the projection: the queries of each head, then the keys, then the values of each group.
        rows, start = [], 0
        for heads, chosen in ((self.heads, kept), *[(self.key_value_heads, groups)] * 2):
            rows += [start + head * self.head_width + index for head in chosen for index in range(self.head_width)]
            start += heads * self.head_width
        columns = [head * self.head_width + index for head in kept for index in range(self.head_width)]
        self.projection = _selected(self.projection, rows, 0)
        self.output = _selected(self.output, columns, 1)
        self.heads, self.key_value_heads = len(kept), len(groups)
        self.position.keep_heads(kept)

    def _split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_width)).transpose(1, 2)

    def empty_cache(self, batch: int, slots: int, like: Tensor, source: tuple[Tensor, Tensor] | None = None) -> LayerCache:
        """An empty cache with the dtype and device of `like`; `source` is for a cross-attention beside this attention."""
        return LayerCache.empty(like, (batch, self.key_value_heads, slots, self.head_width), source)

    def flops(self, queries: int, keys: int, causal: bool) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence, by the fast path."""
        inner_width = self.heads * self.head_width
        projections = 2 * self.width * (2 * queries * inner_width + 2 * keys * self.key_value_heads * self.head_width)
        return projections + self.mix_flops(queries, keys, causal)

    def mix_flops(self, queries: int, keys: int, causal: bool) -> int:
        """FLOPs of `mix`. The default counts scores and values over all queries and keys, masked or not."""
        return 4 * queries * keys * self.heads * self.head_width


def _selected(layer: nn.Linear, indices: Sequence[int], axis: int) -> nn.Linear:
    """A linear layer with some of the outputs (axis 0) or inputs (axis 1) of another."""
    index = torch.tensor(indices, device=layer.weight.device)
    weight = layer.weight.detach().index_select(axis, index)
    smaller = Linear(weight.shape[1], weight.shape[0], bias=layer.bias is not None, device=weight.device)
    smaller.weight = nn.Parameter(weight)
    if layer.bias is not None:
        smaller.bias = nn.Parameter(layer.bias.detach().index_select(0, index) if axis == 0 else layer.bias.detach())
    return smaller
