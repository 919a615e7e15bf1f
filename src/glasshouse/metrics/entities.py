"""Entities in tagged words, and scores of whole entities as in the CoNLL evaluation and in seqeval. Pure functions.

Tags are O, or a prefix and a kind: B-PER begins an entity, I-PER continues it; E- or L- ends one, and S- or U- is one of a
single word (IOB2, IOBES and BILOU). An entity also begins where its kind changes, as in IOB1.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from glasshouse.metrics.classification import LabelCounts

OUTSIDE = "O"
_TAG = re.compile(r"([BIESLU])-(.+)")
_BEGINS, _ENDS = frozenset("BSU"), frozenset("ESLU")

Span = tuple[str, int, int]
"""(kind, first word, word after the last)"""


def mark_entities(tags: Iterable[str]) -> bool:
    """Whether these tags mark entities."""
    inside = [tag for tag in tags if tag != OUTSIDE]
    return bool(inside) and all(_TAG.fullmatch(tag) for tag in inside) and any(tag[0] in "BI" for tag in inside)


def spans(tags: Sequence[str]) -> list[Span]:
    """The entities of a text, from the tags of its words."""
    found: list[Span] = []
    start: int | None = None
    kind, ended = "", False
    for place, tag in enumerate([*tags, OUTSIDE]):
        match = _TAG.fullmatch(tag)
        prefix, new_kind = match.groups() if match else (OUTSIDE, "")
        if start is not None and (ended or prefix in _BEGINS or new_kind != kind):
            found.append((kind, start, place))
            start = None
        if new_kind and start is None:
            start, kind = place, new_kind
        ended = prefix in _ENDS
    return found


def count(truth: Iterable[Sequence[str]], predictions: Iterable[Sequence[str]]) -> LabelCounts:
    """The counts of each kind of entity. An entity is right if its kind and all its words are."""
    counters: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    for true_tags, predicted_tags in zip(truth, predictions, strict=True):
        actual, predicted = set(spans(true_tags)), set(spans(predicted_tags))
        for counter, found in zip(counters, (actual & predicted, predicted, actual), strict=True):
            counter.update(kind for kind, _, _ in found)
    names = tuple(sorted({kind for counter in counters for kind in counter}))
    return LabelCounts(names, *(np.array([counter[name] for name in names], np.int64) for counter in counters))
