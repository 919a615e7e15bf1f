"""Suggested next commands for a run, shown after training and in the report. They work without editing.

They repeat the words that the user typed, so that a reader sees which word changes. A run of a study, which `train` did not
make, is named by its spec file. A command that needs a text has a held-out one of the run, so that it is about what the user
works on.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from glasshouse.data import prepared_data
from glasshouse.data.corpus_shards import short_digest
from glasshouse.data.documents import Document
from glasshouse.formatting import without_controls
from glasshouse.runs.run import Run
from glasshouse.specs import declared, recipes, spec_files
from glasshouse.specs.errors import GlasshouseError

# A comparison of two arms with four seeds is suggested if it would take no longer than this, in seconds.
LONGEST_COMPARISON = 3600.0
SEEDS = 4
# The texts in a suggested command if there are none of the user, and the second text of a pair.
EXAMPLE, SECOND_EXAMPLE = "Thank you all.", "We thank you."
# Held-out texts among which one is looked for.
CANDIDATES = 200
# A text of so many words shows what a model does; a longer one, in words or characters, makes a long command.
FEWEST_WORDS, MOST_WORDS, MOST_CHARACTERS = 4, 40, 160
# Words that say how or from where a run is trained. Another value is no other model.
NO_QUESTION = ("training.start_from", "training.precision", "model.kind")


def commands(run: Run, from_data: bool = True) -> tuple[str, ...]:
    """Commands that use the run, evaluate it, ask whether a choice of the user mattered, and train another position.

    The first of a task that needs a text has a held-out text of the run, `from_data`, or else a prompt.
    """
    if "origin" in run.facts:
        can_sample = run.continues_text and run.folder.tokenizer_file.exists()
        return (*((f"glasshouse sample {run.name}",) if can_sample else ()), f"glasshouse certify {run.name}")
    words, position = _asked(run), "learned" if run.spec.model.position != "learned" else "rotary"
    another = shlex.join(["glasshouse", "train", *_changed(words, "model.position", position)])
    return tuple(filter(None, (_use(run, from_data), f"glasshouse evaluate {run.name}", _comparison(run, words), another)))


def _use(run: Run, from_data: bool) -> str:
    prompt = next(iter(run.spec.evaluation.prompts), "")
    if not run.task.needs_text:
        return run.task.example_command(run.name, _quoted(prompt) if prompt else "")
    found = _held_out_text(run) if from_data else None
    text, second = found or (prompt or EXAMPLE, "")
    return run.task.example_command(run.name, _quoted(text), _quoted(second or SECOND_EXAMPLE))


def _held_out_text(run: Run) -> tuple[str, str] | None:
    """A text of the test split, or of the validation split; of a pair also the second text, otherwise "".

    None if the data cannot be read, has changed since the training, or has no short text.
    """
    data = run.spec.data
    if not (data.source or data.files):
        return None
    with suppress(GlasshouseError, OSError):
        source = prepared_data.find_source(data, run.task.columns)
        if run.facts.get("data") == short_digest(source.fingerprint()):
            splits = [split for split in ("test", "validation") if split in source.splits]
            return next(filter(None, (_choose(source.documents(split)) for split in splits)), None)
    return None


def _choose(documents: Iterator[Document]) -> tuple[str, str] | None:
    """The first text of a good length, or else the longest short one, on one line."""
    longest: tuple[str, str] | None = None
    for document in islice(documents, CANDIDATES):
        text, second = (" ".join(part.split()) for part in (document.text, document.fields.get("second", "")))
        both = f"{text} {second}".strip()
        # A terminal shows the text as it is, and no command takes it for an option.
        can_be_typed = both == without_controls(both) and not text.startswith("-") and not second.startswith("-")
        if not text or not can_be_typed or len(both) > MOST_CHARACTERS:
            continue
        if FEWEST_WORDS <= len(both.split()) <= MOST_WORDS:
            return text, second
        if longest is None or len(text) > len(longest[0]):
            longest = text, second
    return longest


def changed_training(run: Run, fields: Mapping[str, Any], name: str) -> str:
    """The command that trains the run with other values of some fields, under another name."""
    words = _asked(run)
    for field, value in fields.items():
        words = _changed(words, field, str(value).lower() if isinstance(value, bool) else str(value))
    return shlex.join(["glasshouse", "train", *words, "--name", name])


def _asked(run: Run) -> list[str]:
    """The recipe and the overrides as the user typed them; of other runs, the spec file."""
    return [str(word) for word in run.facts.get("asked", ())] or [str(run.folder.spec_file)]


def _changed(words: Sequence[str], field: str, value: str) -> list[str]:
    recipe, *overrides = words
    return [recipe, *(word for word in overrides if _field(word) != field), f"{field}={value}"]


def _comparison(run: Run, words: Sequence[str]) -> str:
    """A comparison of the last choice of the user by name (`model.position=alibi`) with what the recipe has; or empty."""
    recipe, *overrides = words
    seconds = run.facts.get("outcome", {}).get("seconds", 0.0)
    if not overrides or 2 * SEEDS * seconds > LONGEST_COMPARISON:
        return ""
    try:
        usual = spec_files.unchecked(recipes.tables_of(recipe))
        for field in reversed([_field(word) for word in overrides]):
            if field.startswith(("model.", "training.")) and field not in NO_QUESTION:
                before, now = declared.find_value(usual, field), declared.find_value(run.spec, field)
                if before != now and _is_name(before) and _is_name(now):
                    arms = _changed(words, field, f"{before},{now}")
                    return shlex.join(["glasshouse", "compare", *arms, "--seeds", str(SEEDS)])
    except GlasshouseError:
        pass
    return ""


def _field(word: str) -> str:
    return spec_files.with_full_name(word).partition("=")[0].strip()


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum()


def _quoted(text: str) -> str:
    """The text as one shell word. Double quotes work in every shell, unless the text contains a special character."""
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'
