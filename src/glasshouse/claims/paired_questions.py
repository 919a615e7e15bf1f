"""Several paired questions of one claim, judged as one family. Pure functions of numbers; knows no study.

`glasshouse compare` holds every arm against the first. A claim often asks of pairs instead: at each width, is this attention
better than that? Holm's correction over all of them keeps the chance of any false answer.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glasshouse.metrics import statistics
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge, summarise, written

BySeed = Mapping[int, float]
# Losses that differ by less than this are alike: 2 % of perplexity; for letters, of which a word has about five, less.
TOKEN_MARGIN, LETTER_MARGIN = 0.02, 0.005


def judged(pairs: Mapping[str, tuple[BySeed, BySeed]], rule: VerdictRule) -> dict[str, Difference]:
    """Question -> difference of the second from the first of its pair, by seed -> value, corrected over all questions.

    A side that diverged in every seed is the worse one.
    """
    alone = {name: judge({"first": first, name: second}, rule)[name] for name, (first, second) in pairs.items()}
    raw = np.array([(each.p, each.equivalence_p) for each in alone.values()]).reshape(-1, 2)
    adjusted = zip(*statistics.corrected(*np.where(np.isnan(raw), 1.0, raw).T), strict=True)
    found = {}
    for (name, each), (p, equivalence_p) in zip(alone.items(), adjusted, strict=True):
        if fate := _fate(*pairs[name]):
            found[name] = replace(each, word=fate, adjusted_p=0.0)
            continue
        word = "undecided"
        if p <= rule.alpha:
            word = "better" if (each.mean > 0) == rule.higher_is_better else "worse"
        elif equivalence_p <= rule.alpha:
            word = "no difference"
        found[name] = replace(each, adjusted_p=float(p), equivalence_p=float(equivalence_p), word=word)
    return found


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
    mean, low, high = (written(end, half) for end in ends)
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


def _fate(first: BySeed, second: BySeed) -> str:
    """Who wins because the other came through in no seed; nothing where both or neither did."""
    lives = [[value for value in side.values() if math.isfinite(value)] for side in (first, second)]
    if not first or not second or bool(lives[0]) == bool(lives[1]):
        return ""
    return "worse" if lives[0] else "better"
