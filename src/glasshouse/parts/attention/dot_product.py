"""Attention by scaled dot products: its definition, the faster paths to the same result, and the attentions that use it.

Axes: B batch, H heads, G key-value heads, Q queries, K keys, E head width.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from glasshouse import cpu_kernels
from glasshouse.parts.attention import decoding_kernel, distance_bias_kernel, scaled_dot_product
from glasshouse.parts.attention.base import Attention, AttentionInputs
from glasshouse.parts.cache import LayerCache
from glasshouse.parts.masks import Mask, SameText
from glasshouse.parts.positions.base import Position, rotate_by
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting

# On a CPU, texts of at most so many tokens have a kernel of their own. On one ARM core, with heads of 32, it took 0.6 to 0.8
# of the time of torch's for 32 and 64 tokens, and 1.05 for 128.
SHORT = 64


def by_distance_bias_kernel(inputs: AttentionInputs) -> Tensor | None:
    """On CUDA, for long texts: the kernel reads the bias from a table of distances."""
    (queries, keys, values), mask = inputs.tensors, inputs.mask
    if not (inputs.biased and inputs.aligned and distance_bias_kernel.usable(queries, mask, inputs.dropout)):
        return None
    distances = torch.arange(1 - queries.shape[2], queries.shape[2], device=queries.device)
    bias_H1D = inputs.position.distance_bias(distances[None])
    assert bias_H1D is not None
    return distance_bias_kernel.attend(queries, keys, values, bias_H1D[:, 0], mask)


def by_short_text_kernel(inputs: AttentionInputs) -> Tensor | None:
    """In training on a CPU, for short texts."""
    (queries, keys, values), mask = inputs.tensors, inputs.mask
    batch, heads, tokens, _ = queries.shape
    causal = mask.lower_triangular and inputs.aligned
    longest = mask.longest or tokens
    if inputs.biased or inputs.dropout or not (causal or isinstance(mask, SameText)) or longest > SHORT:
        return None
    if not cpu_kernels.usable(queries, keys, values):
        return None
    bounds = mask.bounds if isinstance(mask, SameText) else torch.arange(0, batch * tokens + 1, tokens)
    keys, values = (scaled_dot_product.repeat_for_heads(x, heads) for x in (keys, values))
    return cpu_kernels.attention(queries, keys, values, bounds, longest, causal)


def by_causal_kernel(inputs: AttentionInputs) -> Tensor | None:
    """torch's fused kernel has the lower triangle built in."""
    if inputs.biased or not (inputs.mask.lower_triangular and inputs.aligned):
        return None
    return scaled_dot_product.fused(*inputs.tensors, None, None, causal=True, dropout=inputs.dropout)


def by_masked_kernel(inputs: AttentionInputs) -> Tensor:
    """torch's fused kernel with any mask and bias, as tensors."""
    allowed, bias = inputs.allowed(), inputs.bias()
    return scaled_dot_product.fused(*inputs.tensors, allowed, bias, causal=False, dropout=inputs.dropout)


# The result is that of the first path that applies. The others give None; the last one always applies. None of them forms
# the attention weights or has a soft limit of scores: `DotProductAttention.dot_product` is the definition.
FAST_PATHS = (by_distance_bias_kernel, by_short_text_kernel, by_causal_kernel, by_masked_kernel)


@dataclass(frozen=True)
class DotProductSettings:
    """Settings of every attention by scaled dot products."""

    query_key_norm: bool = setting(False, "scale queries and keys to unit root mean square, times learned gains", rare=True)
    value_residual: bool = setting(False, "mix the first block's values into later ones, by learned weights", rare=True)
    attention_softcap: float = setting(
        0.0, "a soft limit of the size of scores, before position biases; 0 means none", minimum=0, rare=True
    )


class DotProductAttention(Attention):
    """concat over heads of softmax(Q_h K_h^T / sqrt(E)) V_h, times W_O. `options` are those of `Attention`."""

    mixes_by_dot_product = True

    def __init__(
        self, width: int, heads: int, position: Position | None = None, *, attention_softcap: float = 0.0, **options: Any
    ) -> None:
        super().__init__(width, heads, position, **options)
        self.softcap = attention_softcap

    def mix(self, inputs: AttentionInputs) -> Tensor:
        return self.dot_product(inputs)

    def dot_product(self, inputs: AttentionInputs) -> Tensor:
        """softmax(Q K^T / sqrt(E) + bias) V, by a fast path unless the weights or a soft limit of scores are needed."""
        for path in () if self.needs_weights or self.softcap else FAST_PATHS:
            if (mixed := path(inputs)) is not None:
                return mixed
        keys, values = (scaled_dot_product.repeat_for_heads(x, self.heads) for x in (inputs.keys, inputs.values))
        scores = scaled_dot_product.scores(inputs.queries, keys, inputs.bias(), self.softcap)
        return self.weighted_values(scores, values, inputs.allowed())

    def decode(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, positions: Tensor, cache: LayerCache
    ) -> Tensor | None:
        """A new token of each row attends to every slot that its row has, so that no mask is formed in each layer."""
        position = self.position
        known_position = not position.mechanism or position.rotation_key is not None
        if not (self.mixes_by_dot_product and mask.lower_triangular and known_position):
            return None
        if self.softcap or self.needs_weights:
            return None
        hooked = any(probe.hooked for probe in (self.queries, self.keys, self.values))
        if not hooked and decoding_kernel.usable(queries, cache.keys):
            # It rotates, writes to the cache and attends.
            frequencies = position.rotation_frequencies
            return decoding_kernel.attend(queries, keys, values, cache.keys, cache.values, positions, frequencies)
        if cache.step is None:
            return None
        # All layers share mask and rotation: a step is mostly small operations.
        rotation = cache.step.once(position.rotation_key, partial(position.rotation, positions))
        if rotation is not None:
            queries, keys = rotate_by(queries, *rotation), rotate_by(keys, *rotation)
        queries, keys, values = self.queries(queries), self.keys(keys), self.values(values)
        return scaled_dot_product.one_query(queries, *cache.extend(keys, values, positions), cache.step.seen)


class MultiHeadAttention(DotProductAttention):
    """Multi-head attention (Vaswani et al., Attention Is All You Need, 2017).

    concat over heads of softmax(Q_h K_h^T / sqrt(E)) V_h, times W_O. Costs n^2 h + n h^2 operations, h being the width.
    Needs n h memory, or n^2 per head if the weights are recorded.

    With `attention_softcap` = c the scores are c tanh(Q_h K_h^T / sqrt(E) / c), so that none is beyond c (Gemma 2, 2024).
    No fused kernel computes that, so it needs n^2 memory per head.
    """

    Settings = DotProductSettings


class GroupedQueryAttention(DotProductAttention):
    """Grouped-query attention: the heads of a group share keys and values (Ainslie et al., GQA, 2023).

    concat over heads of softmax(Q_h K_g^T / sqrt(E)) V_g, g being the group of head h, times W_O. Costs n^2 h + n h^2
    operations, like multi-head attention. Keys, values and their cache are smaller by a factor of heads / key_value_heads.
    With one key-value head it is multi-query attention (Shazeer 2019).
    """

    @dataclass(frozen=True)
    class Settings(DotProductSettings):
        key_value_heads: int = setting(0, "number of key-value heads; 0 means half of heads", minimum=0, maximum=10_000)

    def __init__(
        self, width: int, heads: int, position: Position | None = None, *, key_value_heads: int = 0, **options: Any
    ) -> None:
        key_value_heads = key_value_heads or (heads // 2 if heads % 2 == 0 else 1)
        if heads % key_value_heads:
            divisors = ", ".join(str(n) for n in range(1, heads + 1) if heads % n == 0)
            reason = f"does not divide model.heads={heads}; choose one of {divisors}"
            raise SpecError(reason, "model.key_value_heads", key_value_heads)
        super().__init__(width, heads, position, key_value_heads=key_value_heads, **options)


class UnscaledAttention(DotProductAttention):
    """Dot-product attention whose scores are not divided by the square root of the head width, for ablation studies.

    concat over heads of softmax(Q_h K_h^T) V_h, times W_O. Costs what multi-head attention costs. The kernels divide by
    sqrt(E), so the queries are multiplied by it first.
    """

    mixes_by_dot_product = False

    def mix(self, inputs: AttentionInputs) -> Tensor:
        inputs.queries = inputs.queries * math.sqrt(self.head_width)
        return self.dot_product(inputs)
