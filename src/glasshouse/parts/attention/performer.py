"""Performer: softmax attention approximated by positive random features (Choromanski et al., Rethinking Attention with
Performers, 2021).

Axes: B batch, H heads, T time, Q queries, K keys, E head width, F features.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.attention.base import Attention, AttentionInputs
from glasshouse.specs.spec_fields import setting

# The causal fast path splits a sequence into chunks of this many tokens.
CHUNK = 32


class PerformerAttention(Attention):
    """[phi(Q) (phi(K)^T V)] / [phi(Q) (phi(K)^T 1)], where phi(x)_f = exp(w_f . y - |y|^2 / 2) / sqrt(F), y = x / E^(1/4).

    In expectation over the random w_f this is softmax attention. Costs n F h + n h^2 operations: linear in n. The w_f are
    Gaussian and orthogonal; they are drawn once and saved with the weights. Features are computed in float32. The features
    of a key with a norm many times sqrt(E) underflow to zero, so such a key gets no weight.
    """

    @dataclass(frozen=True)
    class Settings:
        rank: int = setting(0, "random features of a head; 0 means four times its width", minimum=0, maximum=1_000_000)

    unsupported: ClassVar[dict[str, str]] = {
        "rows": "Performer never forms attention weights, because it sums the features of the keys first",
        "tokens": "it has no attention weights",
        "bias": "Performer has no scores that a bias could be added to; choose model.position=rotary, sinusoidal or learned",
    }
    features: Tensor

    def __init__(self, width: int, heads: int, rank: int = 0, **options: Any) -> None:
        super().__init__(width, heads, **options)
        self.register_buffer("features", orthogonal_gaussian(rank or 4 * self.head_width, self.head_width))

    @property
    def needs_weights(self) -> bool:
        return self.plain

    def mix(self, inputs: AttentionInputs) -> Tensor:
        queries, keys, values = inputs.tensors
        dtype = values.dtype
        with torch.autocast(queries.device.type, enabled=False):
            queries_BHQF = self._random_features(queries, rescale=True)
            keys_BHKF = self._random_features(keys, rescale=False)
            values = values.to(queries_BHQF.dtype)
            if inputs.mask.lower_triangular and inputs.aligned and not self.plain:
                mixed = _causal_attention(queries_BHQF, keys_BHKF, values)
            else:
                mixed = self._masked_attention(queries_BHQF, keys_BHKF, values, inputs.allowed())
        return F.dropout(mixed, self.dropout, self.training).to(dtype)

    def _random_features(self, x: Tensor, rescale: bool) -> Tensor:
        """phi(x). With `rescale`, each row is divided by its largest feature to avoid overflow.

        For a query this factor cancels in the quotient. For a key it does not, because the sum is over keys. One factor
        for all keys would let a later key change the rounding of earlier outputs.
        """
        x = x.to(torch.promote_types(x.dtype, torch.float32)) / self.head_width**0.25
        exponent = x @ self.features.to(x.dtype).T - x.square().sum(-1, keepdim=True) / 2
        if rescale:
            exponent = exponent - exponent.amax(-1, keepdim=True).detach()
        return exponent.exp() / self.features.shape[0] ** 0.5

    def _masked_attention(self, queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None) -> Tensor:
        if allowed is not None and allowed.shape[-2] == 1 and not self.plain:
            keys = keys * allowed.transpose(-2, -1)
            allowed = None
        if allowed is None and not self.plain:
            return _quotient(queries @ (keys.transpose(-2, -1) @ values), queries @ keys.sum(-2)[..., None])
        kernel = queries @ keys.transpose(-2, -1)
        if allowed is not None:
            kernel = kernel * allowed
        return _quotient(kernel @ values, kernel.sum(-1, keepdim=True))

    def mix_flops(self, queries: int, keys: int, causal: bool) -> int:
        features, head_width = self.features.shape
        feature_flops = 2 * (queries + keys) * head_width * features
        if not causal:
            return self.heads * (feature_flops + 2 * (queries + keys) * features * head_width + 2 * queries * features)
        padded = queries + -queries % CHUNK
        within_chunks = 2 * padded * CHUNK * (features + head_width + 1)
        return self.heads * (feature_flops + within_chunks + 4 * padded * features * (head_width + 1))


def _causal_attention(queries_BHTF: Tensor, keys_BHTF: Tensor, values_BHTE: Tensor) -> Tensor:
    """Attention to the keys up to each position: pairs within a chunk, and sums of phi(k) v^T of earlier chunks."""
    length = queries_BHTF.shape[2]
    padding = -length % CHUNK
    queries, keys, values = (
        F.pad(x, (0, 0, 0, padding)).unflatten(2, (-1, CHUNK)) for x in (queries_BHTF, keys_BHTF, values_BHTE)
    )
    values = torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)  # the column of ones sums up the denominator
    sums = (keys.transpose(-2, -1) @ values).cumsum(2)
    earlier_chunks = F.pad(sums[:, :, :-1], (0, 0, 0, 0, 1, 0))
    own_chunk = (queries @ keys.transpose(-2, -1)).tril() @ values
    total = (own_chunk + queries @ earlier_chunks).flatten(2, 3)[:, :, :length]
    return _quotient(total[..., :-1], total[..., -1:])


def _quotient(numerator: Tensor, denominator: Tensor) -> Tensor:
    # A fully masked query has a denominator of zero and gets zeros.
    return numerator / torch.where(denominator > 0, denominator, 1.0)


def orthogonal_gaussian(rows: int, columns: int) -> Tensor:
    """A matrix of Gaussian rows. Each block of `columns` rows is orthogonal. Every call returns the same matrix."""
    generator = np.random.default_rng(0)
    shape = (-(-rows // columns), columns, columns)
    directions, triangle = np.linalg.qr(generator.standard_normal(shape))
    # The signs of R's diagonal make the directions uniform. The norms of Gaussian vectors make the rows Gaussian; with
    # other norms the features would not approximate the softmax kernel.
    directions *= np.sign(np.diagonal(triangle, axis1=1, axis2=2))[:, None, :]
    lengths = np.linalg.norm(generator.standard_normal(shape), axis=-1, keepdims=True)
    return torch.tensor((directions * lengths).reshape(-1, columns)[:rows], dtype=torch.float32)
