"""The held-out texts whose predictions a report shows: of the test split, or of the validation split if that is empty."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document
from glasshouse.data.shards import Shard
from glasshouse.results.report import (
    AttentionMap,
    Confusion,
    ExplainedText,
    LabelledText,
    Mistake,
    Regression,
    ScoreTable,
    TaggedSentence,
    Translations,
)
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# Limits that keep a report quick to write and short to read.
MOST_TEXTS = 5000
MOST_CHARACTERS = 240


@dataclass(frozen=True)
class Section:
    """The fields of a `Report` that a section of the task fills. `notes` says what is missing, and why."""

    notes: tuple[str, ...] = ()
    confusion: Confusion | None = None
    mistakes: tuple[Mistake, ...] = ()
    regression: Regression | None = None
    scores: ScoreTable | None = None
    label_errors: tuple[LabelledText, ...] = ()
    tagged: tuple[TaggedSentence, ...] = ()
    explained: tuple[ExplainedText, ...] = ()
    translations: Translations | None = None
    attention: AttentionMap | None = None


@dataclass(frozen=True)
class HeldOutTexts:
    """Some examples of a held-out split."""

    run: Run
    split: str
    shard: Shard
    examples: np.ndarray

    @property
    def where(self) -> str:
        """How many texts of which split these are."""
        count = f"{len(self.examples):,}"
        of = f" of {self.shard.documents:,}" if len(self.examples) < self.shard.documents else ""
        return f"{count}{of} {self.split} texts"

    @cached_property
    def documents(self) -> list[Document]:
        """All documents of the split, as they were before tokenization."""
        return list(prepared_data.find_source(self.run.spec.data, self.run.task.columns).documents(self.split))

    def text(self, place: int) -> str:
        """The text of an example, shortened; of a pair, both texts."""
        document = self.documents[self.examples[place]]
        texts = [document.text, *([document.fields["second"]] if "second" in self.run.task.columns else [])]
        shortened = [text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…" for text in texts]
        return " | ".join(shortened)


def find(run: Run) -> HeldOutTexts | str | None:
    """The texts; if they cannot be read any more, the reason; None if the run has no held-out data."""
    data = run.spec.data
    if not (data.source or data.files):
        return None
    try:
        prepared = prepared_data.prepare(data, run.tokenizer, columns=run.task.columns)
    except (GlasshouseError, OSError) as error:
        return str(error)
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        return "the data has changed since the run was trained"
    split = next((split for split in ("test", "validation") if prepared.splits[split].documents), None)
    if split is None:
        return None
    shard = prepared.splits[split]
    examples = np.arange(shard.documents)
    if shard.documents > MOST_TEXTS:
        examples = np.linspace(0, shard.documents - 1, MOST_TEXTS).round().astype(np.int64)
    return HeldOutTexts(run, split, shard, examples)


def distinct(indices: Iterable[int], text: Callable[[int], Any], most: int) -> list[int]:
    """The first indices, at most so many, whose texts differ: a text that the data repeat is shown once."""
    chosen: dict[Any, int] = {}
    for index in indices:
        if len(chosen) == most:
            break
        chosen.setdefault(text(index), int(index))
    return list(chosen.values())
