"""Scaled dot-product attention in two implementations: a reference that forms the weights, and a fused kernel.

Axes: B batch, H heads, G key-value heads (G divides H), Q queries, K keys, E head width.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.masks import Mask


def scores(queries_BHQE: Tensor, keys_BHKE: Tensor, bias: Tensor | None, softcap: float = 0.0) -> Tensor:
    """Q K^T / sqrt(E) + bias. With `softcap` = c, c tanh(Q K^T / sqrt(E) / c) + bias."""
    scaled = queries_BHQE @ keys_BHKE.transpose(-2, -1) / math.sqrt(queries_BHQE.shape[-1])
    if softcap:
        scaled = softcap * torch.tanh(scaled / softcap)
    return scaled if bias is None else scaled + bias


def weights(scores_BHQK: Tensor, allowed: Tensor | None) -> Tensor:
    """The softmax over the allowed keys. A fully masked query gets zeros, and its gradient is finite."""
    if allowed is None:
        return F.softmax(scores_BHQK, dim=-1)
    # A large negative number instead of -inf: the softmax of a row of -inf is NaN.
    lowest = -3e38 if scores_BHQK.dtype.itemsize > 2 else -6e4
    return F.softmax(scores_BHQK.masked_fill(~allowed, lowest), dim=-1).masked_fill(~allowed, 0.0)


def fused(
    queries_BHQE: Tensor,
    keys_BGKE: Tensor,
    values_BGKE: Tensor,
    allowed: Tensor | None,
    bias: Tensor | None,
    causal: bool,
    dropout: float,
) -> Tensor:
    """The same result from one kernel that never forms the weights. `causal` replaces a lower-triangular `allowed`."""
    mask = allowed
    if bias is not None:
        mask = bias if allowed is None else bias.masked_fill(~allowed, float("-inf"))
        mask = mask.to(queries_BHQE.dtype)
    heads = queries_BHQE.shape[1]
    mixed = F.scaled_dot_product_attention(
        queries_BHQE,
        repeat_for_heads(keys_BGKE, heads),
        repeat_for_heads(values_BGKE, heads),
        attn_mask=mask,
        dropout_p=dropout,
        is_causal=causal,
    )
    # The kernels disagree about fully masked queries: in bfloat16 on a GPU they get the mean of all values.
    return mixed if allowed is None else mixed.masked_fill(~allowed.any(-1, keepdim=True), 0.0)


def one_query(queries_BH1E: Tensor, keys_BGKE: Tensor, values_BGKE: Tensor, allowed: Tensor | None) -> Tensor:
    """The same for one query, without repeating keys; the mask (B, 1, 1, K) hides no query entirely."""
    groups = queries_BH1E.unflatten(1, (keys_BGKE.shape[1], -1)).squeeze(3)
    mixed = F.scaled_dot_product_attention(groups, keys_BGKE, values_BGKE, attn_mask=allowed)
    return mixed.flatten(1, 2).unsqueeze(2)


def repeat_for_heads(keys_BGKE: Tensor, heads: int) -> Tensor:
    """Repeat keys or values so that every head has its own: H / G neighbouring heads share one."""
    groups = keys_BGKE.shape[1]
    return keys_BGKE if groups == heads else keys_BGKE.repeat_interleave(heads // groups, dim=1)


def allowed_over_heads(mask: Mask, queries: Tensor, keys: Tensor) -> Tensor | None:
    """The mask as a tensor that broadcasts over the heads."""
    allowed = mask.allowed(queries, keys)
    return allowed if allowed is None or allowed.dim() == 2 else allowed[:, None]
