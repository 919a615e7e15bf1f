"""`glasshouse sample`: prompts, seeds, sampling options and stop strings."""

from pathlib import Path

import pytest

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
        ("--temperature -1", ["bad-option", "temperature=-1"]),
        ("--temperature nan", ["bad-option", "temperature=nan"]),
        ("--temperature inf", ["bad-option", "temperature=inf"]),
        ("--top-p 0", ["bad-option", "top_p=0"]),
        ("--top-p 1.5", ["bad-option", "top_p=1.5"]),
        ("--top-k -1", ["bad-option", "top_k=-1"]),
        ("--min-p 2", ["bad-option", "min_p=2"]),
        ("--repetition-penalty 0", ["bad-option", "repetition_penalty=0"]),
        ("--repetition-penalty inf", ["bad-option", "repetition_penalty=inf"]),
        ("--tokens 0", ["bad-option", "tokens=0"]),
        ("--seed -1", ["bad-option", "seed=-1"]),
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


def test_a_prompt_that_is_not_text(run: Path) -> None:
    # What Python makes of a byte on the command line that is not UTF-8.
    refused(call("sample", "tiny", "--prompt", "ba\udcff"), "lone-surrogate")
