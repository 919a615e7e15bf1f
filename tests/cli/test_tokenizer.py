"""`glasshouse tokenizer`: train and show."""

import json
import os
import re
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer

from .program import (
    call,
    refused,
    some_text,
    worked,
)


@pytest.mark.parametrize("kind", ["byte-pair", "words", "characters"])
def test_tokenizer_train_and_show(text: Path, kind: str) -> None:
    shown = worked(call("tokenizer", "train", str(text), "--vocabulary", "300", "--kind", kind, "--output", "out.json"))
    assert re.fullmatch(r"\d+ tokens\nwrote out\.json\n", shown.out)
    assert json.loads(Path("out.json").read_text())["version"] == "1.0"
    cut = worked(call("tokenizer", "show", "out.json", "--text", "ba be"))
    assert re.search(r"\d+ tokens, 5 characters, 5 bytes", cut.out)


def test_tokenizer_train_with_every_option() -> None:
    for name, seed in (("a.jsonl", 1), ("b.jsonl", 2)):
        Path(name).write_text(json.dumps({"body": some_text(seed=seed)}) + "\n")
    options = "--vocabulary 320 --output gpt4.json --kind byte-pair --pattern gpt-4 --field body"
    assert "320 tokens" in worked(call("tokenizer", "train", "a.jsonl", "b.jsonl", *options.split())).out
    worked(call("tokenizer", "show", "gpt4.json", "--text", "ba 123"))


def test_tokenizer_show_of_a_run(run: Path) -> None:
    assert "tokens" in worked(call("tokenizer", "show", str(run), "--text", "état 雪 [bold]")).out


def test_tokenizers_that_cannot_be(runs: Path, text: Path, run: Path) -> None:
    refused(call("tokenizer", "train", str(text), "--kind", "morse"), GlasshouseError)
    refused(call("tokenizer", "train", str(text), "--vocabulary", "10"), GlasshouseError, "--vocabulary=10")
    refused(
        call("tokenizer", "train", str(text), "--pattern", "gpt-3", "--vocabulary", "300"), GlasshouseError, "gpt-3", "gpt-4"
    )
    refused(
        call("tokenizer", "train", str(text), "--vocabulary", "300", "--output", "no/where.json"),
        GlasshouseError,
        "where.json",
    )
    refused(call("tokenizer", "show", "nowhere.json", "--text", "a"), GlasshouseError, "nowhere.json")
    os.mkdir("empty")
    refused(call("tokenizer", "show", "empty", "--text", "a"), GlasshouseError, "spec.toml")
    Path("wrong.json").write_text('{"model": {"type": "Unigram"}}')
    refused(call("tokenizer", "show", "wrong.json", "--text", "a"), UnsupportedTokenizer, "wrong.json")
    Path("broken.json").write_text('{"model": ')
    refused(call("tokenizer", "show", "broken.json", "--text", "a"), GlasshouseError, "broken.json")
