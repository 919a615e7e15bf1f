"""Claim: every row of attention weights sums to 1, under any mask."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from glasshouse.claims.claim import GROUPS, Quantity
from glasshouse.claims.random_check import RandomCheck, differing, draw
from glasshouse.claims.rules import zero
from glasshouse.inspection.capture import capture
from glasshouse.parts import AdditiveAttention, GroupedQueryAttention, LocalAttention, MultiHeadAttention
from glasshouse.parts.masks import Causal, sequence_mask


class AttentionRows(RandomCheck):
    """Forms the weights of four kinds of attention under four masks."""

    group = GROUPS[0]
    statement = "Every row of attention weights sums to 1, under any mask."
    source = "course work on attention: a sanity check"
    reported = "asserted for softmax(Q K^T / sqrt(d)) V"
    why = "A softmax is a share of a whole, and a mask only removes keys before the shares are formed."
    procedure = (
        "Four kinds of attention (dot-product, grouped-query, additive, local window) with random weights read random "
        "input without a mask, with the causal mask, with padding, and with both. Rows that may see at least one key must "
        "sum to 1, and no weight may be NaN, negative, or above 0 where the mask hides the key. Beside it, rows that may "
        "see no key at all: a softmax over nothing has no shares."
    )
    would_change = "A mask that hides every key of a row: its weights are zero here and sum to 0."
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "sums": Quantity("rows with a key to see whose weights do not sum to 1", "count", "rows"),
        "bad": Quantity("weights that are NaN or negative", "count", "weights"),
        "leaks": Quantity("weights above 0 on hidden keys", "count", "weights"),
        "empty": Quantity("rows without any key whose weights do not sum to 1", "count", "rows"),
        "empty-nan": Quantity("rows without any key that have NaN", "count", "rows"),
    }
    parts = (
        zero("sums", name="rows with a key to see sum to 1"),
        zero("bad", name="no weight is NaN or negative"),
        zero("leaks", name="hidden keys have no weight"),
        zero("empty", name="rows without any key sum to 1", decides=False),
        zero("empty-nan", name="rows without any key have no NaN", decides=False),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        torch.manual_seed(draw(generator, 0, 2**31 - 1))
        width = 4 * draw(generator, 2, 8)
        values = dict.fromkeys(self.quantities, 0.0)
        length = draw(generator, 2, 24)
        kinds: list[Any] = [
            MultiHeadAttention(width, 4),
            GroupedQueryAttention(width, 4, key_value_heads=2),
            AdditiveAttention(width, 4),
            LocalAttention(width, 4, window=draw(generator, 1, 8)),
        ]
        x = torch.randn(2, length, width, generator=generator)
        lengths = torch.tensor([length, draw(generator, 0, length)])
        padding = sequence_mask(lengths)
        for attention in kinds:
            for mask in (None, Causal(), padding, padding & Causal()):
                with torch.inference_mode(), capture(attention, "weights") as seen:
                    attention(x, mask)
                weights = seen["weights"]
                places = torch.arange(length)
                allowed = torch.ones(1, length, length, dtype=torch.bool) if mask is None else mask.allowed(places, places)
                allowed = torch.ones(()).bool() if allowed is None else allowed
                allowed = (allowed[:, None] if allowed.dim() == 3 else allowed).expand_as(weights)
                # A local window hides keys too; what it leaves is where the weights can be above zero.
                visible = allowed & _window(attention, length)
                rows = visible.any(-1)
                sums = weights.sum(-1)
                values["sums"] += differing(sums[rows], torch.ones_like(sums[rows]))
                values["bad"] += float((weights.isnan() | (weights < 0)).sum())
                values["leaks"] += float((weights[~visible] > 0).sum())
                values["empty"] += differing(sums[~rows], torch.ones_like(sums[~rows]))
                values["empty-nan"] += float(sums[~rows].isnan().sum())
        return values


def _window(attention: Any, length: int) -> torch.Tensor:
    """Where an attention may look at all: everywhere, or within its window."""
    window = getattr(attention, "window", length)
    places = torch.arange(length)
    return (places[:, None] - places).abs() < max(window, 1) if window < length else torch.ones(length, length).bool()
