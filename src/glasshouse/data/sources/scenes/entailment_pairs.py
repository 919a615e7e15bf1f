"""Pairs of captions for natural-language inference, labelled entailment, neutral or contradiction.

Every hypothesis occurs three times, once with each label, so the hypothesis alone does not reveal the label. The meaning of
a held-out premise never occurs in the training split.
"""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import ClassVar

from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import GeneratedSource
from glasshouse.data.sources.scenes import english, entailment_rules
from glasshouse.data.sources.scenes.meaning import Meaning, split_of
from glasshouse.data.sources.scenes.wordings import wordings

# The number of hypotheses in each split. There is one pair for each hypothesis and label.
SIZES = {"train": 3000, "validation": 200, "test": 200}
SEED = 1


class ScenePairs(GeneratedSource):
    """Each document is a premise and a hypothesis on two lines. Both end with a full stop."""

    about = "pairs of captions of scenes: does the second follow from the first?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        yield from _documents(split, SIZES[split])


@cache
def _documents(split: str, size: int) -> tuple[Document, ...]:
    """The documents of a split with this many hypotheses. Finding the premises takes seconds, so it is done once."""
    return tuple(_pairs(split, size))


def _pairs(split: str, size: int) -> Iterator[Document]:
    hypotheses = 0
    attempt = 0
    while hypotheses < size:
        generator = Random(f"{SEED} {split} {attempt}")
        attempt += 1
        # In a held-out split, half of the hypotheses have a meaning from the training split. The others have a held-out
        # meaning, so that a premise can have the same meaning as its hypothesis.
        hypothesis_split = split if hypotheses % 2 else "train"
        hypothesis = entailment_rules.random_meaning(generator)
        if split_of(hypothesis) == hypothesis_split and (premises := _find_premises(hypothesis, split, generator)):
            hypotheses += 1
            for label, premise in premises.items():
                sentences = (_random_caption(meaning, generator) for meaning in (premise, hypothesis))
                yield Document("\n".join(f"{sentence}." for sentence in sentences), fields={"label": label})


def _find_premises(hypothesis: Meaning, split: str, generator: Random) -> dict[str, Meaning] | None:
    """A premise from the split for each label; None if the search does not find one for every label."""
    premises: dict[str, Meaning] = {}
    for premise in entailment_rules.random_premises(hypothesis, generator):
        label = entailment_rules.label_pair(premise, hypothesis)
        if label not in premises and split_of(premise) == split:
            premises[label] = premise
            if len(premises) == len(entailment_rules.LABELS):
                return {label: premises[label] for label in entailment_rules.LABELS}
    return None


def _random_caption(meaning: Meaning, generator: Random) -> str:
    """A caption of a meaning in a random wording."""
    return english.caption(meaning, generator.choice(wordings(meaning)))
