"""What describers of scenes say: the adequacy of each caption, by the scene's own facts. Knows no claim.

The references are captions whose meaning the grammar of the scenes knows, so that every other wording of it is right too.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from glasshouse.claims import split_scores
from glasshouse.data import prepared_data
from glasshouse.data.sources.scenes import parser
from glasshouse.data.sources.scenes.meaning import Meaning
from glasshouse.data.sources.scenes.pictures import Scenes
from glasshouse.runs.run import Run
from glasshouse.tasks.describe import Describe

# Training captions among which the best constant caption is searched, and on which it is chosen.
CONSTANT_CANDIDATES = 200


def describe_test_scenes(run: Run) -> dict[str, Any]:
    """The captions that a run writes for the test pictures, their adequacy, and the first of them beside its reference."""
    task = run.task
    assert isinstance(task, Describe)
    test = prepared_data.prepare(run.spec.data, run.tokenizer, columns=task.columns).splits["test"]
    with split_scores.evaluation_precision(run):
        captions = task.written(run.model, test, np.arange(test.documents), run.spec.evaluation)
    references = task.references(test)
    return {
        "adequacy": adequacies(captions, map(meaning_of, references)),
        "example": f"{captions[0]!r} for {references[0]!r}",
    }


def adequacies(captions: Sequence[str], meanings: Iterable[Meaning]) -> list[float]:
    """The share of the facts of each meaning that its caption states."""
    return [parser.adequacy(meaning, caption) for caption, meaning in zip(captions, meanings, strict=True)]


def meaning_of(reference: str) -> Meaning:
    meaning = parser.parse(reference)
    if meaning is None:
        raise ValueError(f"{reference!r} is no caption of a scene")
    return meaning


def meanings_of_test_scenes() -> list[Meaning]:
    """The meanings of the test pictures, in their order."""
    return [meaning_of(document.text) for document in Scenes().documents("test")]


def best_constant_adequacies() -> list[float]:
    """The adequacy for each test picture of the one caption that suits the training pictures best."""
    captions = [document.text for document, _ in zip(Scenes().documents("train"), range(CONSTANT_CANDIDATES), strict=False)]
    meanings = [meaning_of(caption) for caption in captions]
    best = max(captions, key=lambda caption: fmean(adequacies([caption] * len(meanings), meanings)))
    test = meanings_of_test_scenes()
    return adequacies([best] * len(test), test)


def count_objects(meaning: Meaning) -> int:
    """The number of objects in a scene."""
    return sum(group.count for group in meaning.groups)


def by_objects(rows: Mapping[int, Sequence[float]], meanings: Sequence[Meaning]) -> tuple[tuple[float, float], ...]:
    """The curve of the mean adequacy, over all seeds, of the scenes with each number of objects."""
    groups: dict[int, list[float]] = defaultdict(list)
    for row in rows.values():
        for value, meaning in zip(row, meanings, strict=True):
            groups[count_objects(meaning)].append(value)
    return tuple((float(count), fmean(values)) for count, values in sorted(groups.items()))
