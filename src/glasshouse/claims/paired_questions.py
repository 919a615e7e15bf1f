"""How the paired questions of a claim are told: margins that several claims share, and differences in words.

`glasshouse compare` holds every arm against the first. A claim often asks of pairs instead: at each width, is this attention
better than that? `judge_family` judges them with one correction over all.
"""

import math
from collections.abc import Mapping

from glasshouse.formatting import rounded
from glasshouse.metrics.verdicts import BySeed, Difference, summarise

__all__ = ["LETTER_MARGIN", "TOKEN_MARGIN", "BySeed", "spans", "told"]
# Losses that differ by less than this are alike: 2 % of perplexity; for letters, of which a word has about five, less.
TOKEN_MARGIN, LETTER_MARGIN = 0.02, 0.005


def told(difference: Difference, scale: float = 1.0) -> str:
    """`worse by 0.12 (95 % interval 0.08 to 0.16)`, without saying of what."""
    if math.isnan(difference.low):
        why = (
            "one of them diverged in every seed" if difference.word in ("better", "worse") else "too few seeds came through"
        )
        return f"{difference.word} ({why})"
    ends = [scale * end for end in (difference.mean, difference.low, difference.high)]
    half = (ends[2] - ends[1]) / 2
    if difference.word in ("better", "worse") and ends[0] < 0:
        ends = [-ends[0], -ends[2], -ends[1]]
    mean, low, high = (rounded(end, half) for end in ends)
    interval = f"95 % interval {low} to {high}"
    if difference.word in ("better", "worse"):
        return f"{difference.word} by {mean} ({interval})"
    if difference.word == "no difference":
        return f"no difference larger than {scale * difference.margin:.3g} (difference {mean}, {interval})"
    return f"undecided (difference {mean}, {interval})"


def spans(rows: Mapping[int, BySeed]) -> dict[float, tuple[float, float, float]]:
    """Setting -> (mean, low, high) over seeds, as a picture wants them, where any seed came through."""
    found: dict[float, tuple[float, float, float]] = {}
    for setting, values in rows.items():
        if finite := [value for value in values.values() if math.isfinite(value)]:
            summary = summarise(finite)
            low, high = (end if math.isfinite(end) else summary.mean for end in (summary.low, summary.high))
            found[setting] = (summary.mean, low, high)
    return found
