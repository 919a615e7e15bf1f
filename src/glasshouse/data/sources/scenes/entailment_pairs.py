"""Pairs of captions labelled entailment, neutral or contradiction, for learning to infer.

Every hypothesis comes three times, once with each label, so that it tells nothing by itself. No premise of a held-out split
has a meaning that any text of the training split has.
"""

from collections.abc import Iterator
from functools import cached_property
from random import Random
from typing import ClassVar

from glasshouse.data.documents import SPLITS, Document
from glasshouse.data.sources.generated import Generated
from glasshouse.data.sources.scenes import english, entailment_rules
from glasshouse.data.sources.scenes.meaning import Meaning, home
from glasshouse.data.sources.scenes.wordings import wordings

# Hypotheses of each split; a third of its pairs.
SIZES = {"train": 3000, "validation": 200, "test": 200}
SEED = 1


class ScenePairs(Generated):
    """A premise, a line break and a hypothesis a document, each a sentence with its full stop."""

    about = "pairs of captions of scenes: does the second follow from the first?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        yield from self._all[split]

    @cached_property
    def _all(self) -> dict[str, list[Document]]:
        return {split: list(_pairs(split)) for split in SPLITS}


def _pairs(split: str) -> Iterator[Document]:
    found = 0
    number = 0
    while found < SIZES[split]:
        chance = Random(f"{SEED} {split} {number}")
        number += 1
        # Half of the held-out hypotheses are known meanings, half are held out too: then a premise may say the same.
        wanted = split if found % 2 else "train"
        hypothesis = entailment_rules.described(chance)
        if home(hypothesis) == wanted and (chosen := _premises(hypothesis, split, chance)):
            found += 1
            for label, premise in chosen.items():
                sentences = (_worded(meaning, chance) for meaning in (premise, hypothesis))
                yield Document("\n".join(f"{sentence}." for sentence in sentences), fields={"label": label})


def _premises(hypothesis: Meaning, split: str, chance: Random) -> dict[str, Meaning] | None:
    """A premise of the split for each label, or None where one was not found."""
    chosen: dict[str, Meaning] = {}
    for premise in entailment_rules.premises(hypothesis, chance):
        label = entailment_rules.judge(premise, hypothesis)
        if label not in chosen and home(premise) == split:
            chosen[label] = premise
            if len(chosen) == len(entailment_rules.LABELS):
                return {label: chosen[label] for label in entailment_rules.LABELS}
    return None


def _worded(meaning: Meaning, chance: Random) -> str:
    """A caption of a meaning, in any wording."""
    return english.caption(meaning, chance.choice(wordings(meaning)))
