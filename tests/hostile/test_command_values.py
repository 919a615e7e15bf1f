"""Values of the command line that no machine can serve are refused before any work."""

from typing import Any

import pytest

import glasshouse
from glasshouse.specs.errors import GlasshouseError, RunError, SpecError
from tests import refusals
from tests.cli.program import call, refused

HUGE = "1000000000"
LARGE_NUMBERS = [
    ("sample", "run", "--count", HUGE),
    ("sample", "run", "--tokens", HUGE),
    ("augment", "run", "rows.tsv", "--output", "out.tsv", "--copies", HUGE),
    ("few-shot", "run", "--task", "rows.tsv", "--draws", HUGE),
    ("grid", "--models", "run", "--repeats", HUGE),
    ("translate", "run", "a", "--n-best", HUGE),
    ("translate", "run", "a", "--beams", HUGE),
    ("scale", "plan", "demo-lm", "--budgets", "1e9", "--seeds", HUGE),
    ("scale", "fit", "curves.csv", "--resamples", HUGE),
    ("data", "prepare", "mine.txt", "--jobs", HUGE),
    ("serve", "run", "--max-concurrent", HUGE),
    ("tokenizer", "train", "mine.txt", "--vocabulary", HUGE),
]


@pytest.mark.parametrize("words", LARGE_NUMBERS, ids=" ".join)
def test_a_number_far_beyond_use_is_refused(words):
    outcome = call(*words)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    assert words[-2] in outcome.err


@pytest.mark.parametrize(
    "words", [("resume",), ("sample",), ("report",), ("data", "look"), ("tokenizer", "train")], ids=" ".join
)
def test_a_name_that_is_too_long_is_refused(words):
    outcome = call(*words, "a" * 70_000)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 5000


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "\udc80"])
def test_a_refusal_is_one_line_without_control_characters(name):
    message = refused(call("sample", name), RunError)
    assert "\x1b" not in message


@pytest.mark.parametrize("value", [None, 5, b"lm", 3.5, [], object()])
def test_what_is_neither_a_name_nor_a_path_is_refused(value: Any) -> None:
    openers: list[Any] = [
        glasshouse.open_run,
        glasshouse.resume,
        glasshouse.open_study,
        glasshouse.runs.card,
        glasshouse.scaling.fit,
    ]
    for opens in openers:
        with refusals.refused(GlasshouseError):
            opens(value)
    for trains in (glasshouse.train, glasshouse.plan):
        with refusals.refused(SpecError):
            trains(value)
        with refusals.refused(GlasshouseError):
            trains("demo-lm", device=value)
