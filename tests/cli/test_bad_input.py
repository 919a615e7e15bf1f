"""Invalid files, specs and devices are refused with one message, and nothing is left in the runs folder."""

import gzip
import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest
import torch

from glasshouse.specs.errors import DataError, GlasshouseError, SpecError
from glasshouse.tokenizers.base import VocabularyTooLarge

from .program import (
    SMALL,
    TWO_STEPS,
    call,
    folders,
    refused,
    some_text,
    train,
    train_on_file,
    worked,
)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.txt", b"", [GlasshouseError, "empty.txt"]),
        ("mark.txt", b"\xef\xbb\xbf", [GlasshouseError, "mark.txt"]),
        ("empty.gz", gzip.compress(b""), [GlasshouseError, "empty.gz"]),
        ("binary.txt", bytes(range(256)) * 40, [DataError, "binary.txt"]),
        ("latin.txt", ("caf\u00e9 " * 2000).encode("latin-1"), [DataError, "latin.txt", "UTF-8"]),
        ("cut.txt", (some_text() + "\u00e9").encode()[:-1], [DataError, "cut.txt", "UTF-8"]),
        ("wide.txt", some_text().encode("utf-16-le"), [DataError, "wide.txt", "UTF-8"]),
        ("short.gz", gzip.compress(some_text().encode())[:-2000], [DataError, "short.gz"]),
        ("wrong.gz", gzip.compress(some_text().encode())[:-8] + b"wrong---", [DataError, "wrong.gz"]),
        ("magic.gz", b"\x1f\x8b", [DataError, "magic.gz"]),
        ("noise.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\xff" * 200, [DataError, "noise.gz"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_are_no_text(runs: Path, name: str, content: bytes, words: list[str]) -> None:
    Path(name).write_bytes(content)
    refused(train_on_file(name), *words)
    assert folders(runs) == []
    refused(call("train", "language-model", *SMALL, f"data.files={name}", "--dry-run"), *words)
    refused(call("tokenizer", "train", name, "--vocabulary", "300"), *words)
    assert not Path("tokenizer.json").exists()


@pytest.mark.parametrize(
    ("content", "encoding"),
    [(("caf\u00e9 " * 2000).encode("latin-1"), "cp1252"), (some_text().encode("utf-16-le"), "utf-16-le")],
)
def test_an_encoding_is_suggested_where_it_can_be_set(runs: Path, content: bytes, encoding: str) -> None:
    Path("mine.txt").write_bytes(content)
    refused(train_on_file("mine.txt"), DataError, f"data.encoding={encoding}")


def test_a_missing_file(runs: Path) -> None:
    refused(train_on_file("nowhere.txt"), GlasshouseError, "nowhere.txt")
    assert folders(runs) == []


def test_one_missing_file_of_two(runs: Path, text: Path) -> None:
    refused(train_on_file(f"[{text},nowhere.txt]"), GlasshouseError, "nowhere.txt")
    assert folders(runs) == []


def test_a_folder_as_a_file(runs: Path) -> None:
    os.mkdir("texts")
    refused(train_on_file("texts"), DataError)
    assert folders(runs) == []


def test_no_text_at_all(runs: Path) -> None:
    refused(train(*TWO_STEPS), GlasshouseError, "data.files=mine.txt")
    refused(train(*TWO_STEPS, "data.files=[]"), GlasshouseError)
    assert folders(runs) == []


def test_a_name_that_is_refused_can_be_used_again(runs: Path, text: Path) -> None:
    refused(train_on_file("nowhere.txt"), GlasshouseError)
    shutil.copy(text, "nowhere.txt")
    worked(train_on_file("nowhere.txt"))
    assert folders(runs) == ["tiny"]


def test_one_long_line_works() -> None:
    Path("line.txt").write_text(some_text(separators=" "))
    worked(train_on_file("line.txt"))


def test_one_long_word_works() -> None:
    Path("word.txt").write_text(some_text(separators="x"))
    worked(train_on_file("word.txt"))


def test_one_short_line(runs: Path) -> None:
    Path("line.txt").write_text("to be or not to be")
    refused(train_on_file("line.txt"), VocabularyTooLarge, "data.vocabulary=300")
    assert folders(runs) == []


def test_a_vocabulary_larger_than_the_text_can_give(runs: Path, text: Path) -> None:
    message = refused(train_on_file(str(text), "data.vocabulary=100000"), VocabularyTooLarge, "data.vocabulary=100000")
    possible = message.split("choose data.vocabulary=")[1].split()[0]
    worked(train(*TWO_STEPS, f"data.files={text}", f"data.vocabulary={possible}", name="fits"))
    assert folders(runs) == ["fits"]


@pytest.mark.parametrize(("tokenizer", "size"), [("byte-pair", "100"), ("words", "2"), ("characters", "2")])
def test_a_vocabulary_too_small(runs: Path, text: Path, tokenizer: str, size: str) -> None:
    outcome = train_on_file(str(text), f"data.vocabulary={size}", f"data.tokenizer={tokenizer}")
    refused(outcome, GlasshouseError, "vocabulary=", f"{size}")
    assert folders(runs) == []


def test_a_text_shorter_than_the_context(runs: Path) -> None:
    Path("short.txt").write_text("to be or not to be\n")
    overrides = ("data.tokenizer=characters", "data.context=64")
    refused(train_on_file("short.txt", *overrides), DataError, "data.context=64")
    assert folders(runs) == []


def test_json_lines_with_a_bad_line(runs: Path) -> None:
    Path("bad.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n{"text": \n{"text": "four"}\n')
    refused(train_on_file("bad.jsonl"), GlasshouseError, "bad.jsonl")
    assert folders(runs) == []


def test_json_lines_without_the_field(runs: Path) -> None:
    Path("bodies.jsonl").write_text('{"id": 1, "body": "one"}\n')
    refused(train_on_file("bodies.jsonl"), DataError, "bodies.jsonl", "'text'", "data.field=NAME")
    refused(call("tokenizer", "train", "bodies.jsonl", "--vocabulary", "300"), DataError, "'text'")
    assert folders(runs) == []


def test_json_lines_that_are_no_objects(runs: Path) -> None:
    Path("numbers.jsonl").write_text("1\n2\n")
    refused(train_on_file("numbers.jsonl"), DataError, "numbers.jsonl", "'text'")
    assert folders(runs) == []


def test_json_lines_with_empty_texts_only(runs: Path) -> None:
    Path("blank.jsonl").write_text('{"text": ""}\n' * 9)
    refused(train_on_file("blank.jsonl"), DataError, "blank.jsonl", "'text'")
    assert folders(runs) == []


def test_json_lines_with_too_few_documents(runs: Path) -> None:
    rows = [json.dumps({"text": some_text(seed=seed)}) for seed in range(2)]
    Path("few.jsonl").write_text("\n".join([*rows, *rows]))
    refused(train_on_file("few.jsonl"), DataError, "data.validation=0", "data.test=0")
    assert folders(runs) == []
    worked(train_on_file("few.jsonl", "data.validation=0", "data.test=0"))


def test_half_a_surrogate_pair(runs: Path) -> None:
    Path("half.jsonl").write_text('{"text": "\\ud800"}\n' + json.dumps({"text": some_text()}) + "\n")
    refused(train_on_file("half.jsonl", "data.validation=0", "data.test=0"), DataError, "U+D800")
    assert folders(runs) == []


def test_evaluate_on_a_file_that_cannot_be(run: Path) -> None:
    Path("empty.txt").write_text("")
    Path("binary.txt").write_bytes(bytes(1000))
    refused(call("evaluate", "tiny", "--data", "empty.txt"), GlasshouseError, "empty.txt")
    refused(call("evaluate", "tiny", "--data", "binary.txt"), DataError, "binary.txt")
    refused(call("evaluate", "tiny", "--data", "nowhere.txt"), GlasshouseError, "nowhere.txt")
    Path("folder").mkdir()
    refused(call("evaluate", "tiny", "--data", "folder"), DataError)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["model.heads=3", "model.width=64"], [SpecError, "model.heads=3", "model.width=64"]),
        (["model.width=18", "model.heads=6"], [SpecError, "model.heads"]),
        (["model.widht=64"], [GlasshouseError, "'model.widht'", "'model.width'"]),
        (["width=64"], [GlasshouseError, "'width'", "'model.width'"]),
        (["training.width=64"], [GlasshouseError, "'training.width'", "'model.width'"]),
        (["modle.width=64"], [GlasshouseError, "'modle.width'", "model.width"]),
        (["nonsense"], [SpecError, "'nonsense'", "field=value", "model.width=64"]),
        (["model.width"], [SpecError, "'model.width'", "field=value"]),
        (["model.width="], [GlasshouseError, "model.width=''"]),
        (["model.width=1.5"], [GlasshouseError, "model.width='1.5'"]),
        (["model.width=0"], [GlasshouseError, "model.width=0"]),
        (["model.tied=maybe"], [GlasshouseError, "model.tied='maybe'"]),
        (["model.position=rotery"], [GlasshouseError, "model.position='rotery'", "'rotary'"]),
        (["model.kind=encoder"], [SpecError, "model.kind='encoder'"]),
        (["task=nothing"], [GlasshouseError, "task='nothing'"]),
        (["data.tokenizer=bytes-pair"], [GlasshouseError, "data.tokenizer='bytes-pair'", "'byte-pair'"]),
        (["data.source=shakespear"], [GlasshouseError, "data.source='shakespear'", "'shakespeare'"]),
        (["data.pattern=gpt-3"], [GlasshouseError, "data.pattern='gpt-3'", "gpt-2", "gpt-4"]),
        (["data.context=1"], [GlasshouseError, "data.context=1"]),
        (["data.validation=0.9"], [GlasshouseError, "data.validation=0.9", "0.5"]),
        (["data.tokenizer_file=nowhere.json"], [GlasshouseError, "nowhere.json"]),
        (["data.source=state-of-the-union", "data.files=a.txt"], [SpecError, "data.source", "data.files"]),
        (["training.optimiser=adam"], [GlasshouseError, "training.optimiser='adam'", "'adamw'"]),
        (["training.loggers=[paper]"], [GlasshouseError, "training.loggers='paper'"]),
        (["training.steps=-1"], [GlasshouseError, "training.steps=-1"]),
        (["training.steps=abc"], [GlasshouseError, "training.steps='abc'"]),
        (["training.steps=inf"], [GlasshouseError, "training.steps='inf'"]),
        (["training.steps=0"], [SpecError, "training.steps=0", "training.epochs=0"]),
        (["training.steps=5", "training.epochs=1"], [SpecError, "training.steps=5", "training.epochs=1"]),
        (["training.epochs=inf"], [SpecError, "training.epochs"]),
        (["training.learning_rate=nan"], [SpecError, "training.learning_rate"]),
        (["training.learning_rate=inf"], [SpecError, "training.learning_rate"]),
        (["training.learning_rate=fast"], [GlasshouseError, "training.learning_rate='fast'"]),
        (["training.learning_rate=-1"], [GlasshouseError, "training.learning_rate=-1"]),
        (
            ["training.batch=4", "training.gradient_accumulation=3"],
            [SpecError, "training.gradient_accumulation=3", "training.batch=4"],
        ),
        (["training.schedule=cosin"], [GlasshouseError, "training.schedule='cosin'", "'cosine'"]),
        (["evaluation.stride=1000"], [SpecError, "evaluation.stride=1000", "data.context=16"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value[0], str) else "",
)
def test_specs_that_cannot_be(runs: Path, text: Path, overrides: list[str], words: list[str]) -> None:
    base = [] if any(change.startswith("data.source") for change in overrides) else [f"data.files={text}"]
    steps = [] if any(change.startswith(("training.steps", "training.epochs")) for change in overrides) else TWO_STEPS
    refused(train(*base, *steps, *overrides), *words)
    assert folders(runs) == []


@pytest.mark.slow
def test_a_logger_that_is_not_installed(runs: Path, text: Path) -> None:
    if importlib.util.find_spec("wandb"):
        pytest.skip("wandb is installed")
    refused(train_on_file(str(text), "training.loggers=[wandb]"), GlasshouseError)
    assert folders(runs) == []


def test_an_unknown_recipe(runs: Path) -> None:
    for outcome in (call("train", "demo"), call("recipes", "demo"), call("doctor", "demo")):
        refused(outcome, SpecError, "'demo'")
    refused(call("train", "demo-ml"), SpecError, "'demo-lm'")
    assert folders(runs) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[model\nwidth = 1", [SpecError, "mine.toml"]),
        (b"\xff\xfe", [SpecError, "mine.toml"]),
        (b"[model]\nwidht = 1", [GlasshouseError, "model.widht", "model.width"]),
        (b"model = 1", [SpecError]),
        (b"[model]\nwidth = 'wide'", [GlasshouseError, "model.width='wide'"]),
        (b"task = 1", [GlasshouseError, "task=1"]),
    ],
)
def test_a_spec_file_that_cannot_be(runs: Path, content: bytes, words: list[str]) -> None:
    Path("mine.toml").write_bytes(content)
    refused(call("train", "mine.toml", "data.source=state-of-the-union"), *words)
    assert folders(runs) == []


def test_a_missing_spec_file(runs: Path) -> None:
    refused(call("train", "mine.toml"), SpecError, "mine.toml")
    assert folders(runs) == []


@pytest.mark.parametrize("device", ["gpu", "cuda", "mps", "auto:1", "cpu:x", "cuda:x"])
def test_a_device_that_is_not_there(run: Path, runs: Path, text: Path, device: str) -> None:

    if (device.startswith("cuda") and torch.cuda.is_available()) or (device == "mps" and torch.backends.mps.is_available()):
        pytest.skip(f"this machine has {device}")
    name = device.split(":")[0] if device.startswith("cuda") else device
    refused(
        call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}", "--device", device), GlasshouseError, name
    )
    refused(call("sample", "tiny", "--device", device), GlasshouseError, name)
    refused(call("resume", "tiny", "--device", device), GlasshouseError, name)
    refused(call("doctor", "--device", device), GlasshouseError, name)
    assert folders(runs) == ["tiny"]
