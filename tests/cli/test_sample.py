"""`glasshouse sample`: prompts, seeds, sampling options, stop strings, and text that must have a form."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from glasshouse.cli.predictions import _all_pieces
from glasshouse.specs.errors import DataError, GlasshouseError

from .program import (
    call,
    refused,
    worked,
)


def test_sample(run: Path) -> None:
    outcome = worked(call("sample", "tiny", "--prompt", "ba", "--tokens", "8"))
    assert outcome.out.startswith("ba")
    assert len(outcome.out) > 3
    assert outcome.err == ""


def test_sample_with_every_option(run: Path) -> None:
    options = "--tokens 12 --temperature 0.7 --top-k 40 --top-p 0.9 --min-p 0.01 --repetition-penalty 1.2 --seed 7"
    more = ("--stop", "zzz", "--stop", "qqq", "--count", "3", "--device", "cpu", "--prompt", "ba")
    shown = worked(call("sample", "tiny", *options.split(), *more)).out
    assert shown.count("ba") >= 3


def test_sample_is_the_same_for_the_same_seed_only(run: Path) -> None:
    texts = [worked(call("sample", "tiny", "--tokens", "30", "--seed", seed)).out for seed in ("1", "1", "2")]
    assert texts[0] == texts[1] != texts[2]


def test_sample_greedily_does_not_depend_on_the_seed(run: Path) -> None:
    texts = [worked(call("sample", "tiny", "--temperature", "0", "--seed", seed)).out for seed in ("1", "2")]
    assert texts[0] == texts[1]


def test_sample_ends_before_a_stop_string(run: Path) -> None:
    whole = worked(call("sample", "tiny", "--tokens", "40", "--prompt", "ba")).out.rstrip("\n")
    stop = whole[10:12]
    cut = worked(call("sample", "tiny", "--tokens", "40", "--prompt", "ba", "--stop", stop)).out.rstrip("\n")
    assert cut == "ba" + whole[2:].split(stop)[0]


def test_sample_beyond_the_context(run: Path) -> None:
    worked(call("sample", "tiny", "--prompt", "ba " * 50, "--tokens", "40"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--temperature -1", [GlasshouseError, "temperature=-1"]),
        ("--temperature nan", [GlasshouseError, "temperature=nan"]),
        ("--temperature inf", [GlasshouseError, "temperature=inf"]),
        ("--top-p 0", [GlasshouseError, "--top-p=0"]),
        ("--top-p 1.5", [GlasshouseError, "--top-p=1.5"]),
        ("--top-k -1", [GlasshouseError, "--top-k=-1"]),
        ("--min-p 2", [GlasshouseError, "--min-p=2"]),
        ("--repetition-penalty 0", [GlasshouseError, "--repetition-penalty=0"]),
        ("--repetition-penalty inf", [GlasshouseError, "--repetition-penalty=inf"]),
        ("--tokens 0", [GlasshouseError, "--tokens=0"]),
        ("--seed -1", [GlasshouseError, "seed=-1"]),
    ],
)
def test_sampling_that_cannot_be(run: Path, options: str, words: list[str]) -> None:
    outcome = call("sample", "tiny", "--prompt", "ba", *options.split())
    refused(outcome, *words)
    assert outcome.out == ""


@pytest.mark.parametrize("options", ["--tokens many", "--count 0", "--nonsense", "--top-p"])
def test_options_that_are_none(run: Path, options: str) -> None:
    outcome = call("sample", "tiny", *options.split())
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    assert options.split()[0] in outcome.err


def test_sample_by_a_regular_expression(run: Path) -> None:
    shown = worked(
        call("sample", "tiny", "--prompt", "ba ", "--regex", r"(ba|do){2,4}, \d{4} 🌱", "--count", "6", "--seed", "3")
    )
    texts = [line for line in shown.out.splitlines() if line]
    assert len(texts) == 6
    assert all(re.fullmatch(r"ba (ba|do){2,4}, \d{4} 🌱", text) for text in texts)
    assert shown.err == ""


def test_sample_by_a_json_schema(run: Path) -> None:
    year = {"type": "integer", "minimum": 1790, "maximum": 2026}
    properties = {"speaker": {"enum": ["Adams", "Lincoln"]}, "years": {"type": "array", "items": year, "maxItems": 3}}
    Path("speech.json").write_text(json.dumps({"properties": properties, "required": ["speaker", "years"]}))
    for seed in range(3):
        outcome = worked(call("sample", "tiny", "--json-schema", "speech.json", "--tokens", "200", "--seed", str(seed)))
        value = json.loads(outcome.out)
        assert value["speaker"] in ("Adams", "Lincoln")
        assert all(1790 <= year <= 2026 for year in value["years"])
        assert outcome.err == ""


def test_sample_says_that_a_form_was_cut_off(run: Path) -> None:
    outcome = worked(call("sample", "tiny", "--regex", "[a-z]{200}", "--tokens", "3"))
    assert "--tokens" in outcome.err
    assert "2 of 2" in worked(call("sample", "tiny", "--regex", "[a-z]{200}", "--tokens", "3", "--count", "2")).err


def test_forms_that_are_refused(run: Path) -> None:
    Path("damaged.json").write_text("{")
    Path("unsupported.json").write_text('{"not": {}}')
    for options, *words in (
        (("--regex", "(?=a)"), GlasshouseError, "look-ahead"),
        (("--json-schema", "missing.json"), GlasshouseError, "missing.json"),
        (("--json-schema", "damaged.json"), GlasshouseError, "damaged.json"),
        (("--json-schema", "unsupported.json"), GlasshouseError, "'not'"),
        (("--json-schema", "unsupported.json", "--regex", "a"), GlasshouseError, "regex"),
    ):
        outcome = call("sample", "tiny", "--prompt", "ba", *options)
        refused(outcome, *words)
        assert outcome.out == ""


def test_a_prompt_that_is_not_text(run: Path) -> None:
    # What Python makes of a byte on the command line that is not UTF-8.
    refused(call("sample", "tiny", "--prompt", "ba\udcff"), DataError)


@pytest.mark.parametrize("option", ["--tokens", "--count"])
def test_sample_refuses_numbers_without_use(run: Path, option: str) -> None:
    assert call("sample", "tiny", option, "1000000000").code == 2


def test_an_interrupt_keeps_the_continuations_that_were_begun() -> None:
    def pieces() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    assert not _all_pieces(pieces(), 10)
    assert _all_pieces(iter([1, 2]), 10)
