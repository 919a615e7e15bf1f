"""Captions of scenes with known faults, made by rules from reference captions. Knows no model and no metric.

A reference is an English caption of a held-out meaning. Facts of its meaning (kind, count, colour, relation) are changed,
and the result is worded like the reference or in any wording. Two further kinds of caption omit a fact, or have the words
of the reference in a random order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from glasshouse.data.sources.scenes import entailment, parser
from glasshouse.data.sources.scenes.captions import random_english
from glasshouse.data.sources.scenes.meaning import CATEGORIES, SOME, Meaning, split_of

SAME, ANY = WORDINGS = ("swapped", "reworded")
# Numbers of changed facts.
CHANGES = (0, 1, 2, 3)
# Attempts to shuffle the words so that even a tolerant reader gets another meaning.
SHUFFLES = 20


@dataclass(frozen=True)
class EditedCaption:
    """A caption and its reference. `adequacy` is the share of facts that they have in common."""

    reference: str
    text: str
    adequacy: float
    follows: bool  # the reference entails it
    follows_both: bool  # and it entails the reference

    @classmethod
    def of(cls, reference: str, text: str) -> "EditedCaption":
        expected, meaning = parser.parse(reference), parser.parse(text)
        if expected is None or meaning is None:
            raise ValueError(f"no meaning in {reference!r} or {text!r}")
        labels = entailment.label_pair(expected, meaning), entailment.label_pair(meaning, expected)
        entailed, reverse = (label == "entailment" for label in labels)
        return cls(reference, text, parser.adequacy(expected, text), entailed, entailed and reverse)


@dataclass(frozen=True)
class CaptionTest:
    """The captions of one seed. `edited[wording][changes]` has one caption for each reference, in their order."""

    edited: dict[str, dict[int, list[EditedCaption]]]
    omissions: list[EditedCaption]
    shuffled: list[EditedCaption]


def make_test(seed: int, references: int) -> CaptionTest:
    """The captions of a seed: this many references of distinct meanings, and everything made from them."""
    generator = Random(f"edited captions {seed}")
    meanings = list(_held_out_meanings(generator, references))
    texts = [_any_caption(meaning, generator) for meaning in meanings]
    edited: dict[str, dict[int, list[EditedCaption]]] = {wording: {} for wording in WORDINGS}
    for changes in CHANGES:
        altered = [parser.altered_captions(text, "english", changes, generator) for text in texts]
        for wording in WORDINGS:
            captions = (captions[wording] for captions in altered)
            edited[wording][changes] = [EditedCaption.of(*pair) for pair in zip(texts, captions, strict=True)]
    omitted = (_any_caption(omit_fact(meaning, generator), generator) for meaning in meanings)
    omissions = [EditedCaption.of(*pair) for pair in zip(texts, omitted, strict=True)]
    return CaptionTest(edited, omissions, [caption for text in texts for caption in _shuffle(text, generator)])


def translate_badly(test: CaptionTest, error_rate: float, any_wording: float, generator: Random) -> list[EditedCaption]:
    """The captions of a made-up translator, one for each reference.

    Each of three facts is wrong with probability `error_rate`; a caption has any wording with probability `any_wording`.
    """
    chosen = []
    for index in range(len(test.edited[SAME][0])):
        changes = sum(generator.random() < error_rate for _ in CHANGES[1:])
        wording = ANY if generator.random() < any_wording else SAME
        chosen.append(test.edited[wording][changes][index])
    return chosen


def omit_fact(meaning: Meaning, generator: Random) -> Meaning:
    """The meaning without one of its facts: a colour, a count ("some" instead), the relation, or a whole group."""
    groups, options = meaning.groups, []
    for index, group in enumerate(groups):
        kept = (*groups[:index], *groups[index + 1 :])
        options += [(*groups[:index], replace(group, colour=""), *groups[index + 1 :])] if group.colour else []
        options += [(*groups[:index], replace(group, count=SOME), *groups[index + 1 :])] if group.count > 1 else []
        options += [kept] if kept and kept[0].kind not in CATEGORIES else []
    without = [Meaning(option, meaning.relation if len(option) > 1 else "") for option in options]
    return generator.choice([*without, *([Meaning(groups)] if meaning.relation else [])])


def _held_out_meanings(generator: Random, count: int) -> Iterator[Meaning]:
    """Distinct meanings of the test split, from which a fact can be omitted."""
    seen: set[Meaning] = set()
    while len(seen) < count:
        meaning = entailment.random_meaning(generator)
        can_omit = len(meaning.groups) > 1 or meaning.groups[0].colour or meaning.groups[0].count > 1
        if split_of(meaning) == "test" and can_omit and meaning not in seen:
            seen.add(meaning)
            yield meaning


def _any_caption(meaning: Meaning, generator: Random) -> str:
    return random_english(meaning, generator)


def _shuffle(text: str, generator: Random) -> Sequence[EditedCaption]:
    """The text with its words in an order that changes its meaning; empty if no such order was found."""
    words = text.split()
    for _ in range(SHUFFLES):
        caption = EditedCaption.of(text, " ".join(generator.sample(words, len(words))))
        if caption.adequacy < 1 and not caption.follows:
            return [caption]
    return []
