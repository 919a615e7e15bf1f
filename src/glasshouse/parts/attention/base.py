"""The base class of attentions: project to queries, keys and values, mix the values, project the result.

Axes: B batch, T time, D width, H heads, G key-value heads, Q queries, K keys, E head width.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse import cpu_kernels
from glasshouse.parts.attention import decoding_kernel, distance_bias_kernel, scaled_dot_product
from glasshouse.parts.cache import LayerCache, OneTokenStep, slot_positions
from glasshouse.parts.capabilities import Unsupported, require
from glasshouse.parts.first_values import FirstValues
from glasshouse.parts.linear import Linear, linear
from glasshouse.parts.masks import Everything, Mask
from glasshouse.parts.normalisation import EPSILON
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.positions.rotary import Rotary, rotate_by
from glasshouse.parts.probe import Probe
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


@dataclass(frozen=True)
class DotProductSettings:
    """Settings of every attention by scaled dot products."""

    query_key_norm: bool = setting(
        False, "scale each query and each key to unit root mean square, with a learned gain for each feature", rare=True
    )
    value_residual: bool = setting(
        False, "mix the values of the first block into those of the later blocks, with two learned weights", rare=True
    )
    attention_softcap: float = setting(
        0.0, "a soft limit of the size of scores, before any bias of positions; 0 means no limit", minimum=0, rare=True
    )


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
    """Projections around `mix`. A subclass implements `mix` and `build`.

    `plain = True` selects the reference implementation instead of the fast path. Hooking the probe `scores` or `weights`
    does the same, because the fast path never forms them.
    """

    unsupported: ClassVar[Unsupported] = {}
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
        softcap: float = 0.0,
    ) -> None:
        super().__init__()
        if width % heads and not head_width:
            raise SpecError(
                f"does not divide width={width}; choose a divisor of the width, or set head_width", "heads", heads
            )
        self.width, self.heads = width, heads
        self.key_value_heads = key_value_heads or heads
        self.head_width = head_width or width // heads
        self.dropout = dropout
        self.softcap = softcap
        self.plain = False
        self.position = position or NoPosition()
        if self.position.mechanism == "embedding":
            raise SpecError(
                f"{type(self.position).__name__} is added to the embeddings and has no effect in an attention; "
                "pass it to the model instead"
            )
        if self.position.mechanism:
            require(type(self), self.position.mechanism, f"{type(self).__name__} with {type(self.position).__name__}")
        self.position.check(heads, self.head_width)
        # One matrix product gives queries, keys and values: one kernel launch instead of three.
        self._projection_sizes = [heads * self.head_width] + 2 * [self.key_value_heads * self.head_width]
        self.projection: nn.Linear = Linear(width, sum(self._projection_sizes), bias=bias)
        self.output: nn.Linear = Linear(heads * self.head_width, width, bias=bias)
        # Scores of normalised queries and keys cannot grow without bound (Henry et al., Query-Key Normalization, 2020).
        self.query_norm: nn.Module = HeadNorm(self.head_width) if query_key_norm else nn.Identity()
        self.key_norm: nn.Module = HeadNorm(self.head_width) if query_key_norm else nn.Identity()
        # Twice the weights of an attention's own values and of the first one's (Zhou et al., Value Residual Learning, 2024).
        self.value_shares = nn.Parameter(torch.ones(2)) if value_residual else None
        self.queries, self.keys, self.values, self.mixed = Probe(), Probe(), Probe(), Probe()
        if "rows" not in self.unsupported:
            self.scores, self.weights = Probe(), Probe()

    @classmethod
    @abstractmethod
    def build(cls, sizes: Sizes, settings: Any, position: Position) -> "Attention":
        """Build the attention with these sizes. `settings` is an instance of the class's `Settings`, if it declares one."""

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
        """Return the mixed values (B, H, Q, E). If both positions are the same tensor, they count from 0."""

    def forward(
        self,
        x_BTD: Tensor,
        mask: Mask | None = None,
        positions: Tensor | None = None,
        cache: LayerCache | None = None,
        first_values: FirstValues | None = None,
    ) -> Tensor:
        """Self-attention: each token attends to every token that the mask allows. The default mask allows all.

        The default positions are 0, 1, 2, ... An attention with a value residual without `first_values` is the first.
        """
        mask = mask or Everything()
        if positions is None:
            positions = torch.arange(x_BTD.shape[1], device=x_BTD.device)
        projected = self.projection(x_BTD).split(self._projection_sizes, dim=-1)
        queries, keys, values = (self._split_heads(x) for x in projected)
        queries, keys = self.query_norm(queries), self.key_norm(keys)
        if self.value_shares is not None:
            own, first = (self.value_shares / 2).unbind()
            values = own * values + first * (first_values or FirstValues()).take(values)
        if cache is not None and self._decodes_by_kernel(queries, cache, mask):
            frequencies = self.position.frequencies if isinstance(self.position, Rotary) else None
            mixed = decoding_kernel.attend(queries, keys, values, cache.keys, cache.values, positions, frequencies)
            return self.output(self.mixed(mixed).transpose(1, 2).flatten(2))
        if cache is not None and cache.step is not None and self._needs_no_mask(mask):
            return self._decode_one_token(queries, keys, values, positions, cache, cache.step)
        keys, values = self.keys(self.position.rotate(keys, positions)), self.values(values)
        key_positions = positions
        if cache is not None:
            keys, values = cache.extend(keys, values, positions)
            key_positions = slot_positions(keys)
        return self._attend(queries, keys, values, mask, positions, key_positions)

    def attend_to(self, x_BTD: Tensor, keys: Tensor, values: Tensor, mask: Mask, positions: Tensor) -> Tensor:
        """Cross-attention: tokens attend to the `keys_and_values` of another sequence."""
        weight, bias = self.projection.weight, self.projection.bias
        rows = self._projection_sizes[0]
        queries = self.query_norm(self._split_heads(linear(x_BTD, weight[:rows], None if bias is None else bias[:rows])))
        return self._attend(queries, keys, values, mask, positions, slot_positions(keys))

    def keys_and_values(self, source_BKD: Tensor) -> tuple[Tensor, Tensor]:
        """Project a sequence to the keys and values (B, G, K, E) that another sequence attends to."""
        weight, bias = self.projection.weight, self.projection.bias
        rows = self._projection_sizes[0]
        projected = linear(source_BKD, weight[rows:], None if bias is None else bias[rows:])
        keys, values = (self._split_heads(x) for x in projected.split(self._projection_sizes[1:], dim=-1))
        return self.keys(self.key_norm(keys)), self.values(values)

    def _attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        queries = self.queries(self.position.rotate(queries, query_positions))
        mixed = self.mixed(self.mix(queries, keys, values, mask, query_positions, key_positions))
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _decode_one_token(
        self, queries: Tensor, keys: Tensor, values: Tensor, positions: Tensor, cache: LayerCache, step: OneTokenStep
    ) -> Tensor:
        """The same as `forward`, with the mask and the rotation that all layers share: a step is mostly small operations."""
        if isinstance(self.position, Rotary):
            turn = step.once(self.position.key, partial(self.position.cosine_and_sine, positions))
            queries, keys = rotate_by(queries, *turn), rotate_by(keys, *turn)
        queries, keys, values = self.queries(queries), self.keys(keys), self.values(values)
        mixed = scaled_dot_product.one_query(queries, *cache.extend(keys, values, positions), step.seen)
        return self.output(self.mixed(mixed).transpose(1, 2).flatten(2))

    def _needs_no_mask(self, mask: Mask) -> bool:
        """Whether a new token simply attends to every slot that its row has."""
        if not (self.mixes_by_dot_product and mask.lower_triangular):
            return False
        plain_position = not self.position.mechanism or type(self.position) is Rotary
        return plain_position and not self.softcap and not self.needs_weights

    def _decodes_by_kernel(self, queries: Tensor, cache: LayerCache, mask: Mask) -> bool:
        """Whether one kernel can rotate, write to the cache and attend. It shows no probe what it computes on the way."""
        if not (decoding_kernel.usable(queries, cache.keys) and self._needs_no_mask(mask)):
            return False
        return not any(probe.hooked for probe in (self.queries, self.keys, self.values))

    @property
    def projection_sizes(self) -> tuple[int, ...]:
        """The rows of the projection that give queries, keys and values."""
        return tuple(self._projection_sizes)

    @property
    def needs_weights(self) -> bool:
        """Whether the attention weights must be formed, so that no fused kernel can be used."""
        return self.plain or self.weights.hooked or self.scores.hooked

    def dot_product(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        """softmax(Q K^T / sqrt(E) + bias) V, by a fused kernel unless the weights are needed.

        With `softcap` = c a score is c tanh(Q K^T / sqrt(E) / c) + bias (Gemma 2, 2024), which no fused kernel computes.
        """
        dropout = self.dropout if self.training else 0.0
        fused = not (self.needs_weights or self.softcap)
        aligned = query_positions is key_positions and query_positions.dim() == 1
        biased = self.position.mechanism == "bias"
        if biased and aligned and fused and distance_bias_kernel.usable(queries, mask, dropout):
            distances = torch.arange(1 - queries.shape[2], queries.shape[2], device=queries.device)
            bias_H1D = self.position.distance_bias(distances[None])
            assert bias_H1D is not None
            return distance_bias_kernel.attend(queries, keys, values, bias_H1D[:, 0], mask)
        bias = self.position.bias(query_positions, key_positions)
        if bias is None and not dropout and fused:
            mixed = scaled_dot_product.for_short_texts(queries, keys, values, mask, aligned)
            if mixed is not None:
                return mixed
        if mask.lower_triangular and aligned and bias is None and fused:
            return scaled_dot_product.fused(queries, keys, values, None, None, causal=True, dropout=dropout)
        allowed = scaled_dot_product.allowed_over_heads(mask, query_positions, key_positions)
        if fused:
            return scaled_dot_product.fused(queries, keys, values, allowed, bias, causal=False, dropout=dropout)
        keys = scaled_dot_product.repeat_for_heads(keys, self.heads)
        values = scaled_dot_product.repeat_for_heads(values, self.heads)
        return self.weighted_values(scaled_dot_product.scores(queries, keys, bias, self.softcap), values, allowed)

    def weighted_values(self, scores_BHQK: Tensor, values_BHKE: Tensor, allowed: Tensor | None) -> Tensor:
        """softmax(scores) V, through the probes `scores` and `weights`."""
        weights = self.weights(scaled_dot_product.weights(self.scores(scores_BHQK), allowed))
        return F.dropout(weights, self.dropout, self.training) @ values_BHKE

    def keep_heads(self, kept: Sequence[int], name: str = "the attention") -> None:
        """Remove all other heads, counted from 0. Heads that share keys and values stay or go together."""
        if self.value_shares is not None:
            raise SpecError(
                f"{name} mixes the values of the first block's heads into its own, so that none can be removed; train "
                "with model.value_residual=false"
            )
        size = self.heads // self.key_value_heads
        groups = [group for group in range(self.key_value_heads) if group * size in kept]
        if list(kept) != [group * size + head for group in groups for head in range(size)]:
            raise SpecError(
                f"{size} heads of {name} share keys and values; remove all heads of a group, such as "
                f"{', '.join(str(head + 1) for head in range(size))}"
            )
        # Rows of the projection: the queries of each head, then the keys, then the values of each group.
        rows, start = [], 0
        for heads, chosen in ((self.heads, kept), *[(self.key_value_heads, groups)] * 2):
            rows += [start + head * self.head_width + index for head in chosen for index in range(self.head_width)]
            start += heads * self.head_width
        columns = [head * self.head_width + index for head in kept for index in range(self.head_width)]
        self.projection = _selected(self.projection, rows, 0)
        self.output = _selected(self.output, columns, 1)
        self.heads, self.key_value_heads = len(kept), len(groups)
        self._projection_sizes = [self.heads * self.head_width] + 2 * [self.key_value_heads * self.head_width]
        self.position.keep_heads(kept)

    def _split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_width)).transpose(1, 2)

    def max_length(self) -> int | None:
        """The longest sequence that this attention accepts, or None if there is no limit."""
        return None

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
