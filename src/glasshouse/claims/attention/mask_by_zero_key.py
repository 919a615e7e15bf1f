"""Claim: to hide a position it is enough to set its key to zero."""

from collections.abc import Mapping
from typing import ClassVar

import torch

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, draw
from glasshouse.claims.rules import zero
from glasshouse.parts.attention import scaled_dot_product

LENGTHS = (4, 8, 16, 32, 64)


class MaskByZeroKey(RandomCheck):
    """Hides one position of random queries, keys and values by a zero key, and by a score of minus infinity."""

    group = GROUPS[0]
    statement = "To hide a position it is enough to set its key to zero."
    source = "course work on attention: a question on masks"
    reported = "asserted: set row t of K to zero"
    why = "A zero key has the score 0 with every query, which looks like no score at all."
    procedure = (
        "Random queries, keys and values of random sizes are drawn. One position is hidden by setting its key to zero. It "
        "is hidden if no query gives it any weight, and if no output changes when its value changes. Beside it, the same "
        "position is hidden by adding minus infinity to its scores."
    )
    would_change = "Nothing: a score of 0 has the weight exp(0) over the sum, which is never 0."
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "zero-key/weight": Quantity("queries that give weight to the position with a zero key", "count", "queries"),
        "zero-key/changed": Quantity("queries whose output changes with the value of that position", "count", "queries"),
        "infinity/weight": Quantity(
            "queries that give weight to the position, scores of minus infinity", "count", "queries"
        ),
        "infinity/changed": Quantity("queries whose output changes, scores of minus infinity", "count", "queries"),
        **{
            f"{way}/at/{length}": Quantity(f"mean weight of the hidden position among {length}, {way}", "mean weight")
            for way in ("zero key", "minus infinity")
            for length in LENGTHS
        },
    }
    parts = (
        zero("zero-key/weight", name="no query gives weight to a position whose key is zero"),
        zero("zero-key/changed", name="no output depends on the value of that position"),
        zero("infinity/weight", name="repaired, minus infinity: no query gives weight to it", decides=False),
        zero("infinity/changed", name="repaired, minus infinity: no output depends on it", decides=False),
    )
    figures = (
        LineFigure(
            "weight",
            "tokens",
            "mean weight of the hidden position",
            {way: {length: f"{way}/at/{length}" for length in LENGTHS} for way in ("zero key", "minus infinity")},
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        length, width = draw(generator, 4, 32), draw(generator, 4, 64)
        hidden = draw(generator, 0, length - 1)
        values: dict[str, float] = {}
        for way, key in (("zero-key", "zero"), ("infinity", "infinity")):
            weights, outputs, changed = _hide(length, width, hidden, key, generator)
            values[f"{way}/weight"] = float((weights[:, hidden] != 0).sum())
            values[f"{way}/changed"] = float((outputs != changed).any(-1).sum())
        for way, key in (("zero key", "zero"), ("minus infinity", "infinity")):
            for size in LENGTHS:
                weights, _, _ = _hide(size, 32, size // 2, key, generator)
                values[f"{way}/at/{size}"] = float(weights[:, size // 2].mean())
        return values


def _hide(
    length: int, width: int, hidden: int, way: str, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(weights, outputs, outputs with another value at the hidden position)."""
    queries, keys, values = (torch.randn(1, 1, length, width, generator=generator) for _ in range(3))
    allowed = None
    if way == "zero":
        keys[:, :, hidden] = 0
    else:
        allowed = (torch.arange(length) != hidden).expand(length, length)
    weights = scaled_dot_product.weights(scaled_dot_product.scores(queries, keys, None), allowed)
    changed = values.clone()
    changed[:, :, hidden] += 1
    return weights[0, 0], (weights @ values)[0, 0], (weights @ changed)[0, 0]
