"""Which of two texts denies the other: by an entailment model, or by shared words and a negation as a rough stand-in."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from glasshouse.inspection.entailment_metric import LABELS, MOST_UNKNOWN, Judge
from glasshouse.metrics.text_overlap import FUNCTION_WORDS, content_stems, jaccard, stem, words

CONTRADICTION = LABELS.index("contradiction")
# The rough stand-in: two clauses speak of the same thing from this Jaccard index of their content words on.
SAME_THING = 0.5
NEGATIONS = frozenset(
    ("no", "not", "never", "none", "nothing", "nobody", "nowhere", "neither", "nor", "cannot", "without", "hardly")
)
NEGATING_PREFIXES = ("un", "in", "im", "ir", "dis", "non")
# Words with the opposite meaning of another word, by stems.
OPPOSITES = {
    stem(word): stem(opposite)
    for word, opposite in (
        *(("less", "more"), ("fewer", "more"), ("decrease", "increase"), ("reduce", "increase"), ("lower", "raise")),
        *(("worse", "better"), ("bad", "good"), ("dangerous", "safe"), ("harmful", "helpful"), ("difficult", "easy")),
        *(("hard", "easy"), ("expensive", "cheap"), ("weak", "strong"), ("slow", "fast"), ("false", "true")),
        *(("wrong", "right"), ("few", "many"), ("prevent", "cause")),
    )
}
POSITIVE = frozenset(OPPOSITES.values())


@dataclass(frozen=True)
class Denial:
    """A sentence or clause of one text, and the one of the other text that it contradicts."""

    first: str
    second: str


class ContradictionTest(Protocol):
    """Finds contradictions. `method` says how."""

    method: str
    warning: str

    def denials(self, pairs: Sequence[tuple[str, str]]) -> list[Denial | None]:
        """For each pair of texts, a place where they contradict each other."""


class NegationTest:
    """Two clauses contradict each other if they say the same words of the topic and one of them negates.

    Words of the topic do not count: every point names it. A negation is a word such as "not", a prefix ("unsafe" against
    "safe") or a word with the opposite meaning ("less" against "more"); two in one clause cancel out. This is a rough
    stand-in for an entailment model: it misses contradictions in other words.
    """

    method = "shared words and a negation, a rough stand-in for an entailment model"
    warning = ""

    def __init__(self, topic: str) -> None:
        self.topic = frozenset(content_stems(topic))

    def denials(self, pairs: Sequence[tuple[str, str]]) -> list[Denial | None]:
        candidates = (itertools.product(clauses(first), clauses(second)) for first, second in pairs)
        return [next((Denial(a, b) for a, b in places if self._contradict(a, b)), None) for places in candidates]

    def _contradict(self, a: str, b: str) -> bool:
        (stems_a, flips_a), (stems_b, flips_b) = self._meaning(a, b), self._meaning(b, a)
        same = bool(stems_a & stems_b) and jaccard(stems_a, stems_b) >= SAME_THING
        return same and flips_a % 2 != flips_b % 2

    def _meaning(self, clause: str, other: str) -> tuple[frozenset[str], int]:
        """The content words of a clause with their polarity removed, and the number of negations."""
        known, stems, flips = {stem(word) for word in words(other)}, set(), 0
        for word in words(clause):
            root = stem(word)
            bare = next((word.removeprefix(p) for p in NEGATING_PREFIXES if word.startswith(p)), "")
            if word in NEGATIONS or word.endswith("n't"):
                flips += 1
            elif root in OPPOSITES:
                flips += 1
                stems.add(OPPOSITES[root])
            elif len(bare) > 2 and stem(bare) in known:
                flips += 1
                stems.add(stem(bare))
            elif word not in FUNCTION_WORDS or root in POSITIVE:
                stems.add(root)
        return frozenset(stems - self.topic), flips


class EntailmentTest:
    """Two texts contradict each other if two of their sentences do: the model says so in both directions."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.method = f"the entailment model {judge.run.name}, sentence by sentence"
        self.warning = ""

    def denials(self, pairs: Sequence[tuple[str, str]]) -> list[Denial | None]:
        share = self.judge.unknown_share([text for pair in pairs for text in pair])
        if share > MOST_UNKNOWN:
            self.warning = (
                f"{share:.0%} of the words are not in the training pairs of {self.judge.run.name}: it may be unreliable"
            )
        candidates = [
            (place, a, b)
            for place, (first, second) in enumerate(pairs)
            for a, b in itertools.product(sentences(first), sentences(second))
        ]
        firsts, seconds = [a for _, a, _ in candidates], [b for _, _, b in candidates]
        forward = self.judge.probabilities(firsts, seconds).argmax(1) == CONTRADICTION
        reverse = self.judge.probabilities(seconds, firsts).argmax(1) == CONTRADICTION
        found: list[Denial | None] = [None] * len(pairs)
        for (place, a, b), denied in zip(candidates, forward & reverse, strict=True):
            if denied and found[place] is None:
                found[place] = Denial(a, b)
        return found


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]


def clauses(text: str) -> list[str]:
    """The clauses of a text: its sentences, cut at commas, semicolons, colons and conjunctions."""
    cut = r"[.!?](?:\s+|$)|[,;:]\s+|\n+|\s+(?:because|but|since|although|whereas|while|and)\s+"
    return [part.strip() for part in re.split(cut, text) if part.strip()]
