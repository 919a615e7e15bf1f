"""A text to try a run with: one of its own held-out texts, so that a suggested command is about what the user works on."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document
from glasshouse.data.prepared_folder import short_digest
from glasshouse.formatting import without_controls
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# Held-out texts among which one is looked for.
CANDIDATES = 200
# A text of so many words shows what a model does; a longer one, in words or characters, makes a long command.
FEWEST_WORDS, MOST_WORDS, MOST_CHARACTERS = 4, 40, 160


@dataclass(frozen=True)
class ExampleText:
    """A text on one line; of a pair, also the second text."""

    text: str
    second: str = ""


def held_out(run: Run) -> ExampleText | None:
    """A text of the test split, or of the validation split: the first of a good length, or else the longest short one.

    None if the data cannot be read, has changed since the training, or has no short text.
    """
    data = run.spec.data
    if not (data.source or data.files):
        return None
    try:
        source = prepared_data.find_source(data, run.task.columns)
        if run.facts.get("data") != short_digest(source.fingerprint()):
            return None
        for split in ("test", "validation"):
            if split in source.splits and (found := _choose(source.documents(split))):
                return found
    except (GlasshouseError, OSError):
        pass
    return None


def _choose(documents: Iterator[Document]) -> ExampleText | None:
    longest: ExampleText | None = None
    for document in islice(documents, CANDIDATES):
        example = ExampleText(_one_line(document.text), _one_line(document.fields.get("second", "")))
        both = f"{example.text} {example.second}".strip()
        if not _can_be_typed(example) or len(both) > MOST_CHARACTERS:
            continue
        if FEWEST_WORDS <= len(both.split()) <= MOST_WORDS:
            return example
        if longest is None or len(example.text) > len(longest.text):
            longest = example
    return longest


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _can_be_typed(example: ExampleText) -> bool:
    """Whether a terminal shows the text as it is, and no command takes it for an option."""
    texts = (example.text, example.second)
    return bool(example.text) and all(text == without_controls(text) and not text.startswith("-") for text in texts)
