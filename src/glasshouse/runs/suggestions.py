"""Suggested next commands for a run, shown after training and in the report. They work without editing.

They repeat the words that the user typed, so that a reader sees which word changes. A run of a study, which `train` did not
make, is named by its spec file.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.runs import example_text
from glasshouse.runs.example_text import ExampleText
from glasshouse.runs.run import Run
from glasshouse.specs import aliases, declared, recipes, spec_files
from glasshouse.specs.errors import GlasshouseError

# A comparison of two arms with four seeds is suggested if it would take no longer than this, in seconds.
LONGEST_COMPARISON = 3600.0
SEEDS = 4
# The texts in a suggested command if there are none of the user, and the second text of a pair.
EXAMPLE = ExampleText("Thank you all.", "We thank you.")
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
    comparison = _comparison(run, words)
    return (
        *filter(None, [_use(run, from_data)]),
        f"glasshouse evaluate {run.name}",
        *((comparison,) if comparison else ()),
        shlex.join(["glasshouse", "train", *_changed(words, "model.position", position)]),
    )


def _use(run: Run, from_data: bool) -> str:
    prompt = next(iter(run.spec.evaluation.prompts), "")
    if not run.task.needs_text:
        return run.task.example_command(run.name, _quoted(prompt) if prompt else "")
    found = example_text.held_out(run) if from_data else None
    example = found or ExampleText(prompt or EXAMPLE.text)
    return run.task.example_command(run.name, _quoted(example.text), _quoted(example.second or EXAMPLE.second))


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
    """The words with another value of a field."""
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
        fields = [field for field in map(_field, overrides) if field.startswith(("model.", "training."))]
        choices = [(field, _value(usual, field), _value(run.spec, field)) for field in fields if field not in NO_QUESTION]
    except GlasshouseError:
        return ""
    named = [(field, before, now) for field, before, now in choices if before != now and _is_name(before) and _is_name(now)]
    if not named:
        return ""
    field, before, now = named[-1]
    return shlex.join(["glasshouse", "compare", *_changed(words, field, f"{before},{now}"), "--seeds", str(SEEDS)])


def _field(word: str) -> str:
    return aliases.with_full_name(word).partition("=")[0].strip()


def _value(spec: Any, field: str) -> Any:
    """The value of a field; None for a setting of a part that this spec has not."""
    section, _, name = field.rpartition(".")
    return declared.value_of(spec, field) if name in declared.fields_of(spec, section) else None


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum()


def _quoted(text: str) -> str:
    """The text as one shell word. Double quotes work in every shell, unless the text contains a special character."""
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'
