"""Performer: the softmax kernel by positive random features (Choromanski et al., Rethinking Attention, 2021).

Axes: B batch, H heads, T time, Q queries, K keys, E head width, F features, C chunks, W tokens of a chunk.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.attention import scaled_dot_product
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.masks import Mask
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_fields import setting

# Tokens that a causal pass takes at once: the square within a chunk, the sum of what came before between chunks.
CHUNK = 32


class PerformerAttention(Attention):
    """phi(Q) (phi(K)^T V) over phi(Q) (phi(K)^T 1), phi(x) = exp(w_f . x - |x|^2 / 2) / sqrt(F), x over E^(1/4).

    In expectation over the random w this is softmax attention. Costs n F h + n h^2: linear in n. The w are Gaussian and
    orthogonal, drawn once and kept with the weights. Features are computed in float32; keys many times longer than sqrt(E)
    have features too small for it, and are then not seen.
    """

    @dataclass(frozen=True)
    class Settings:
        rank: int = setting(0, "random features of each head; 0 means four times the head width", minimum=0)

    unsupported: ClassVar[Unsupported] = {
        "rows": "Performer never forms weights: it sums features of the keys first; there are no rows to show",
        "tokens": "there are no rows",
        "bias": "Performer has no scores that a position could add to; choose model.position=rotary, sinusoidal or learned",
    }
    features: Tensor

    def __init__(
        self,
        width: int,
        heads: int,
        features: int,
        position: Position | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        head_width: int = 0,
    ) -> None:
        super().__init__(width, heads, position, bias, dropout, head_width=head_width)
        self.register_buffer("features", orthogonal(features, self.head_width))

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings, position: Position) -> "PerformerAttention":
        features = settings.rank or 4 * sizes.head_width
        more = (position, sizes.bias, sizes.dropout)
        return cls(sizes.width, sizes.heads, features, *more, head_width=sizes.head_width)

    @property
    def watched(self) -> bool:
        return self.plain

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        kind = values.dtype
        with torch.autocast(queries.device.type, enabled=False):
            queries_BHQF, keys_BHKF = self._positive(queries, of_queries=True), self._positive(keys, of_queries=False)
            values = values.to(queries_BHQF.dtype)
            aligned = query_positions is key_positions and query_positions.dim() == 1
            if mask.plainly_causal and aligned and not self.plain:
                mixed = _causal(queries_BHQF, keys_BHKF, values)
            else:
                allowed = scaled_dot_product.allowed_over_heads(mask, query_positions, key_positions)
                mixed = self._by_definition(queries_BHQF, keys_BHKF, values, allowed)
        return F.dropout(mixed, self.dropout, self.training).to(kind)

    def _positive(self, x: Tensor, of_queries: bool) -> Tensor:
        """phi(x). A query's features may be divided by their largest, which cancels; a key's may not: that would let what
        comes later change the rounding of what came before."""
        x = x.to(torch.promote_types(x.dtype, torch.float32)) / self.head_width**0.25
        exponent = x @ self.features.to(x.dtype).T - x.square().sum(-1, keepdim=True) / 2
        if of_queries:
            exponent = exponent - exponent.amax(-1, keepdim=True).detach()
        return exponent.exp() / self.features.shape[0] ** 0.5

    def _by_definition(self, queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None) -> Tensor:
        if allowed is not None and allowed.shape[-2] == 1 and not self.plain:
            keys = keys * allowed.transpose(-2, -1)
            allowed = None
        if allowed is None and not self.plain:
            return _normalised(queries @ (keys.transpose(-2, -1) @ values), queries @ keys.sum(-2)[..., None])
        kernel = queries @ keys.transpose(-2, -1)
        if allowed is not None:
            kernel = kernel * allowed
        return _normalised(kernel @ values, kernel.sum(-1, keepdim=True))

    def mix_flops(self, queries: int, keys: int, causal: bool) -> int:
        features, head_width = self.features.shape
        made = 2 * (queries + keys) * head_width * features
        if not causal:
            return self.heads * (made + 2 * (queries + keys) * features * head_width + 2 * queries * features)
        padded = queries + -queries % CHUNK
        inside = 2 * padded * CHUNK * (features + head_width + 1)
        return self.heads * (made + inside + 4 * padded * features * (head_width + 1))


def _causal(queries_BHTF: Tensor, keys_BHTF: Tensor, values_BHTE: Tensor) -> Tensor:
    """What each query gathers from keys up to its own: the square inside its chunk, plus sums over earlier chunks."""
    length = queries_BHTF.shape[2]
    short = -length % CHUNK
    queries, keys, values = (
        F.pad(x, (0, 0, 0, short)).unflatten(2, (-1, CHUNK)) for x in (queries_BHTF, keys_BHTF, values_BHTE)
    )
    values = torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)  # the last column gathers the divisor
    sums = (keys.transpose(-2, -1) @ values).cumsum(2)
    earlier = F.pad(sums[:, :, :-1], (0, 0, 0, 0, 1, 0))
    inside = (queries @ keys.transpose(-2, -1)).tril() @ values
    both = (inside + queries @ earlier).flatten(2, 3)[:, :, :length]
    return _normalised(both[..., :-1], both[..., -1:])


def _normalised(sums: Tensor, divisor: Tensor) -> Tensor:
    # A query that may see nothing has a divisor of zero, and gets zeros.
    return sums / torch.where(divisor > 0, divisor, 1.0)


def orthogonal(rows: int, columns: int) -> Tensor:
    """Gaussian rows, orthogonal in blocks of as many as there are columns; the same for every call."""
    generator = np.random.default_rng(0)
    shape = (-(-rows // columns), columns, columns)
    directions, triangle = np.linalg.qr(generator.standard_normal(shape))
    # With the triangle's signs the directions are uniform; with the lengths of Gaussian vectors the rows are Gaussian,
    # without which the features would stand for another kernel than the softmax's.
    directions *= np.sign(np.diagonal(triangle, axis1=1, axis2=2))[:, None, :]
    lengths = np.linalg.norm(generator.standard_normal(shape), axis=-1, keepdims=True)
    return torch.tensor((directions * lengths).reshape(-1, columns)[:rows], dtype=torch.float32)
