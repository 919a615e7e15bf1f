"""Tasks in the context, generated: each document labels words of four kinds, and which label a kind has is new every time.

`workers up seven low farmers up roads here` and so on. A word never occurs twice in a document, so a label can only
be known from words of the same kind before it. The words and labels are common in the State of the Union addresses, so that
a model of plain text knows them too.
"""

import itertools
import random
from collections.abc import Iterator
from functools import cache

from glasshouse.data.documents import Document, GeneratedSource

KINDS = {
    "numbers": ("two", "three", "four", "five", "seven", "eight", "hundred", "million"),
    "people": ("workers", "teachers", "parents", "children", "students", "farmers", "women", "veterans"),
    "places": ("schools", "roads", "factories", "homes", "bridges", "streets", "colleges", "cities"),
    "qualities": ("strong", "great", "free", "safe", "proud", "good", "clean", "fair"),
}
LABELS = ("first", "last", "here", "there", "high", "low", "up", "down")
TEMPLATE = "{text} {label} "
COUNTS = {"train": 16000, "validation": 200, "test": 200}
# The share of the assignments of labels to kinds in each held-out split.
HELD_OUT = 0.1
SEEDS = {"train": 0, "validation": 1, "test": 2}

Assignment = tuple[str, ...]  # the label of each kind, in the order of KINDS


@cache
def assignments(split: str) -> list[Assignment]:
    """The assignments of different labels to the kinds that occur in a split, and in no other."""
    everything = list(itertools.permutations(LABELS, len(KINDS)))
    random.Random(3).shuffle(everything)
    count = round(HELD_OUT * len(everything))
    held_out = {"validation": everything[:count], "test": everything[count : 2 * count]}
    return held_out.get(split, everything[2 * count :])


def label_words(assignment: Assignment) -> dict[str, str]:
    return {word: label for words, label in zip(KINDS.values(), assignment, strict=True) for word in words}


class LabelTasks(GeneratedSource):
    """Each document is all words in random order, each with its label under one assignment."""

    about = "tasks in the context: words of four kinds with labels that are new in every document"

    def documents(self, split: str) -> Iterator[Document]:
        return iter(_random_documents(split))


@cache
def _random_documents(split: str) -> tuple[Document, ...]:
    generator, known, documents = random.Random(SEEDS[split]), assignments(split), []
    for _ in range(COUNTS[split]):
        labels = label_words(generator.choice(known))
        words = generator.sample(sorted(labels), len(labels))
        documents.append(Document("".join(TEMPLATE.format(text=word, label=labels[word]) for word in words).strip()))
    return tuple(documents)
