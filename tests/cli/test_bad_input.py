"""What cannot be is refused in one sentence: the rule, the value, the remedy. Nothing half-made stays behind."""

import gzip
import hashlib
import importlib.util
import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glasshouse.records.run_folder import RunFolder

from .conftest import STEPS
from .program import (
    SMALL,
    Outcome,
    call,
    change_facts,
    checkpoints,
    folders,
    losses,
    refused,
    resume,
    some_text,
    train,
    weights,
    worked,
)

TWO_STEPS = ("training.steps=2", "evaluation.every=2")


def train_on(name: str, *overrides: str) -> Outcome:
    """Train on a file of that name."""
    return train(*TWO_STEPS, f"data.files={name}", *overrides)


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Fail, and not hang, where what is tested goes round in circles."""

    def stop(*_: object) -> None:
        pytest.fail(f"it took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# Text.


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.txt", b"", ["empty-file", "empty.txt"]),
        ("mark.txt", b"\xef\xbb\xbf", ["empty-file", "mark.txt"]),
        ("empty.gz", gzip.compress(b""), ["empty-file", "empty.gz"]),
        ("binary.txt", bytes(range(256)) * 40, ["binary-file", "binary.txt"]),
        ("latin.txt", ("caf\u00e9 " * 2000).encode("latin-1"), ["not-utf-8", "latin.txt", "UTF-8"]),
        ("cut.txt", (some_text() + "\u00e9").encode()[:-1], ["not-utf-8", "cut.txt", "UTF-8"]),
        ("wide.txt", some_text().encode("utf-16"), ["not-utf-8", "wide.txt", "UTF-16", "utf-16"]),
        ("wide-be.txt", b"\xfe\xff" + some_text().encode("utf-16-be"), ["not-utf-8", "wide-be.txt", "UTF-16"]),
        ("short.gz", gzip.compress(some_text().encode())[:-2000], ["damaged-gzip", "short.gz"]),
        ("wrong.gz", gzip.compress(some_text().encode())[:-8] + b"wrong---", ["damaged-gzip", "wrong.gz"]),
        ("magic.gz", b"\x1f\x8b", ["damaged-gzip", "magic.gz"]),
        ("noise.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\xff" * 200, ["damaged-gzip", "noise.gz"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_are_no_text(runs: Path, name: str, content: bytes, words: list[str]) -> None:
    Path(name).write_bytes(content)
    refused(train_on(name), *words)
    assert folders(runs) == []
    refused(call("train", "language-model", *SMALL, f"data.files={name}", "--dry-run"), *words)
    refused(call("tokenizer", "train", name, "--vocabulary", "300"), *words)
    assert not Path("tokenizer.json").exists()


def test_a_missing_file(runs: Path) -> None:
    refused(train_on("nowhere.txt"), "unreadable-file", "nowhere.txt")
    assert folders(runs) == []


def test_one_missing_file_of_two(runs: Path, text: Path) -> None:
    refused(train_on(f"[{text},nowhere.txt]"), "unreadable-file", "nowhere.txt")
    assert folders(runs) == []


def test_a_folder_as_a_file(runs: Path) -> None:
    os.mkdir("texts")
    refused(train_on("texts"), "folder-not-file")
    assert folders(runs) == []


def test_no_text_at_all(runs: Path) -> None:
    refused(train(*TWO_STEPS), "no-data", "data.files=mine.txt")
    refused(train(*TWO_STEPS, "data.files=[]"), "no-data")
    assert folders(runs) == []


def test_a_name_that_is_refused_can_be_used_again(runs: Path, text: Path) -> None:
    refused(train_on("nowhere.txt"), "unreadable-file")
    shutil.copy(text, "nowhere.txt")
    worked(train_on("nowhere.txt"))
    assert folders(runs) == ["tiny"]


def test_one_long_line_works() -> None:
    Path("line.txt").write_text(some_text(separators=" "))
    worked(train_on("line.txt"))


def test_one_long_word_works() -> None:
    Path("word.txt").write_text(some_text(separators="x"))
    worked(train_on("word.txt"))


def test_one_short_line(runs: Path) -> None:
    Path("line.txt").write_text("to be or not to be")
    refused(train_on("line.txt"), "vocabulary-too-large", "data.vocabulary=300")
    assert folders(runs) == []


def test_a_vocabulary_larger_than_the_text_can_give(runs: Path, text: Path) -> None:
    message = refused(train_on(str(text), "data.vocabulary=100000"), "vocabulary-too-large", "data.vocabulary=100000")
    possible = message.split("choose data.vocabulary=")[1].split()[0]
    worked(train(*TWO_STEPS, f"data.files={text}", f"data.vocabulary={possible}", name="fits"))
    assert folders(runs) == ["fits"]


@pytest.mark.parametrize(("tokenizer", "size"), [("byte-pair", "100"), ("words", "2"), ("characters", "2")])
def test_a_vocabulary_too_small(runs: Path, text: Path, tokenizer: str, size: str) -> None:
    outcome = train_on(str(text), f"data.vocabulary={size}", f"data.tokenizer={tokenizer}")
    refused(outcome, "vocabulary-too-small", "vocabulary=", f"{size}")
    assert folders(runs) == []


def test_a_text_shorter_than_the_context(runs: Path) -> None:
    Path("short.txt").write_text("to be or not to be\n")
    overrides = ("data.tokenizer=characters", "data.context=64")
    refused(train_on("short.txt", *overrides), "too-little-text", "data.context=64")
    assert folders(runs) == []


def test_json_lines_with_a_bad_line(runs: Path) -> None:
    Path("bad.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n{"text": \n{"text": "four"}\n')
    refused(train_on("bad.jsonl"), "not-json", "bad.jsonl")
    assert folders(runs) == []


def test_json_lines_without_the_field(runs: Path) -> None:
    Path("bodies.jsonl").write_text('{"id": 1, "body": "one"}\n')
    refused(train_on("bodies.jsonl"), "missing-column", "bodies.jsonl", "'text'", "data.field=NAME")
    refused(call("tokenizer", "train", "bodies.jsonl", "--vocabulary", "300"), "missing-column", "'text'")
    assert folders(runs) == []


def test_json_lines_that_are_no_objects(runs: Path) -> None:
    Path("numbers.jsonl").write_text("1\n2\n")
    refused(train_on("numbers.jsonl"), "missing-column", "numbers.jsonl", "'text'")
    assert folders(runs) == []


def test_json_lines_with_empty_texts_only(runs: Path) -> None:
    Path("blank.jsonl").write_text('{"text": ""}\n' * 9)
    refused(train_on("blank.jsonl"), "no-rows", "blank.jsonl", "'text'")
    assert folders(runs) == []


def test_json_lines_with_too_few_documents(runs: Path) -> None:
    rows = [json.dumps({"text": some_text(seed=seed)}) for seed in range(2)]
    Path("few.jsonl").write_text("\n".join([*rows, *rows]))
    refused(train_on("few.jsonl"), "too-few-to-hold-out", "data.validation=0", "data.test=0")
    assert folders(runs) == []
    worked(train_on("few.jsonl", "data.validation=0", "data.test=0"))


def test_half_a_surrogate_pair(runs: Path) -> None:
    Path("half.jsonl").write_text('{"text": "\\ud800"}\n' + json.dumps({"text": some_text()}) + "\n")
    refused(train_on("half.jsonl", "data.validation=0", "data.test=0"), "lone-surrogate", "U+D800")
    assert folders(runs) == []


def test_evaluate_on_a_file_that_cannot_be(run: Path) -> None:
    Path("empty.txt").write_text("")
    Path("binary.txt").write_bytes(bytes(1000))
    refused(call("evaluate", "tiny", "--data", "empty.txt"), "empty-file", "empty.txt")
    refused(call("evaluate", "tiny", "--data", "binary.txt"), "binary-file", "binary.txt")
    refused(call("evaluate", "tiny", "--data", "nowhere.txt"), "unreadable-file", "nowhere.txt")
    refused(call("evaluate", "tiny", "--data", "."), "folder-not-file")


# Specs.


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["model.heads=3", "model.width=64"], ["heads-divide-width", "model.heads=3", "model.width=64"]),
        (["model.width=18", "model.heads=6"], ["odd-width", "model.heads"]),
        (["model.widht=64"], ["unknown-field", "'model.widht'", "'model.width'"]),
        (["width=64"], ["unknown-field", "'width'", "'model.width'"]),
        (["training.width=64"], ["unknown-field", "'training.width'", "'model.width'"]),
        (["modle.width=64"], ["unknown-field", "'modle.width'", "model.width"]),
        (["nonsense"], ["not-an-override", "'nonsense'", "field=value", "model.width=64"]),
        (["model.width"], ["not-an-override", "'model.width'", "field=value"]),
        (["model.width="], ["wrong-type", "model.width=''"]),
        (["model.width=1.5"], ["wrong-type", "model.width='1.5'"]),
        (["model.width=0"], ["out-of-range", "model.width=0"]),
        (["model.tied=maybe"], ["wrong-type", "model.tied='maybe'"]),
        (["model.position=rotery"], ["unknown-word", "model.position='rotery'", "'rotary'"]),
        (["model.kind=encoder"], ["model-does-not-fit-task", "model.kind='encoder'"]),
        (["task=nothing"], ["unknown-word", "task='nothing'"]),
        (["data.tokenizer=bytes-pair"], ["unknown-word", "data.tokenizer='bytes-pair'", "'byte-pair'"]),
        (["data.source=shakespear"], ["unknown-word", "data.source='shakespear'", "'shakespeare'"]),
        (["data.pattern=gpt-3"], ["unknown-word", "data.pattern='gpt-3'", "gpt-2", "gpt-4"]),
        (["data.context=1"], ["out-of-range", "data.context=1"]),
        (["data.validation=0.9"], ["out-of-range", "data.validation=0.9", "0.5"]),
        (["data.tokenizer_file=nowhere.json"], ["unreadable-tokenizer", "nowhere.json"]),
        (["data.source=state-of-the-union", "data.files=a.txt"], ["source-and-files", "data.source", "data.files"]),
        (["training.optimiser=adam"], ["unknown-word", "training.optimiser='adam'", "'adamw'"]),
        (["training.loggers=[paper]"], ["unknown-word", "training.loggers='paper'"]),
        (["training.steps=-1"], ["out-of-range", "training.steps=-1"]),
        (["training.steps=abc"], ["wrong-type", "training.steps='abc'"]),
        (["training.steps=inf"], ["wrong-type", "training.steps='inf'"]),
        (["training.steps=0"], ["steps-or-epochs", "training.steps=0", "training.epochs=0"]),
        (["training.steps=5", "training.epochs=1"], ["steps-or-epochs", "training.steps=5", "training.epochs=1"]),
        (["training.epochs=inf"], ["not-finite", "training.epochs"]),
        (["training.learning_rate=nan"], ["not-finite", "training.learning_rate"]),
        (["training.learning_rate=inf"], ["not-finite", "training.learning_rate"]),
        (["training.learning_rate=fast"], ["wrong-type", "training.learning_rate='fast'"]),
        (["training.learning_rate=-1"], ["out-of-range", "training.learning_rate=-1"]),
        (
            ["training.batch=4", "training.gradient_accumulation=3"],
            ["accumulation-divides-batch", "training.gradient_accumulation=3", "training.batch=4"],
        ),
        (["training.schedule=cosin"], ["unknown-word", "training.schedule='cosin'", "'cosine'"]),
        (["evaluation.stride=1000"], ["stride-within-context", "evaluation.stride=1000", "data.context=16"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_specs_that_cannot_be(runs: Path, text: Path, overrides: list[str], words: list[str]) -> None:
    base = [] if any(change.startswith("data.source") for change in overrides) else [f"data.files={text}"]
    steps = [] if any(change.startswith(("training.steps", "training.epochs")) for change in overrides) else TWO_STEPS
    refused(train(*base, *steps, *overrides), *words)
    assert folders(runs) == []


def test_a_logger_that_is_not_installed(runs: Path, text: Path) -> None:
    if importlib.util.find_spec("wandb"):
        pytest.skip("wandb is installed")
    refused(train_on(str(text), "training.loggers=[wandb]"), "missing-package")
    assert folders(runs) == []


def test_an_unknown_recipe(runs: Path) -> None:
    for outcome in (call("train", "demo"), call("recipes", "demo"), call("doctor", "demo")):
        refused(outcome, "unknown-recipe", "'demo'")
    refused(call("train", "demo-ml"), "unknown-recipe", "'demo-lm'")
    assert folders(runs) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[model\nwidth = 1", ["not-toml", "mine.toml"]),
        (b"\xff\xfe", ["not-toml", "mine.toml"]),
        (b"[model]\nwidht = 1", ["unknown-field", "model.widht", "model.width"]),
        (b"model = 1", ["section-not-field"]),
        (b"[model]\nwidth = 'wide'", ["wrong-type", "model.width='wide'"]),
        (b"task = 1", ["wrong-type", "task=1"]),
    ],
)
def test_a_spec_file_that_cannot_be(runs: Path, content: bytes, words: list[str]) -> None:
    Path("mine.toml").write_bytes(content)
    refused(call("train", "mine.toml", "data.source=state-of-the-union"), *words)
    assert folders(runs) == []


def test_a_missing_spec_file(runs: Path) -> None:
    refused(call("train", "mine.toml"), "unknown-recipe", "mine.toml")
    assert folders(runs) == []


@pytest.mark.parametrize("device", ["gpu", "cuda", "mps", "auto:1", "cpu:x", "cuda:x"])
def test_a_device_that_is_not_there(run: Path, runs: Path, text: Path, device: str) -> None:
    import torch

    if (device.startswith("cuda") and torch.cuda.is_available()) or (device == "mps" and torch.backends.mps.is_available()):
        pytest.skip(f"this machine has {device}")
    name = device.split(":")[0] if device.startswith("cuda") else device
    code = "no-such-device" if name in ("cuda", "mps") else "unknown-device"
    refused(call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}", "--device", device), code, name)
    refused(call("sample", "tiny", "--device", device), code, name)
    refused(call("resume", "tiny", "--device", device), code, name)
    refused(call("doctor", "--device", device), code, name)
    assert folders(runs) == ["tiny"]


# Options.


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


def test_tokenizers_that_cannot_be(runs: Path, text: Path, run: Path) -> None:
    refused(call("tokenizer", "train", str(text), "--kind", "morse"), "unknown-word")
    refused(call("tokenizer", "train", str(text), "--vocabulary", "10"), "vocabulary-too-small", "vocabulary=10")
    refused(
        call("tokenizer", "train", str(text), "--pattern", "gpt-3", "--vocabulary", "300"), "unknown-word", "gpt-3", "gpt-4"
    )
    refused(
        call("tokenizer", "train", str(text), "--vocabulary", "300", "--output", "no/where.json"),
        "cannot-write",
        "no/where.json",
    )
    refused(call("tokenizer", "show", "nowhere.json", "--text", "a"), "unreadable-tokenizer", "nowhere.json")
    os.mkdir("empty")
    refused(call("tokenizer", "show", "empty", "--text", "a"), "not-a-run", "spec.toml")
    Path("wrong.json").write_text('{"model": {"type": "Unigram"}}')
    refused(call("tokenizer", "show", "wrong.json", "--text", "a"), "unsupported-tokenizer", "wrong.json")
    Path("broken.json").write_text('{"model": ')
    refused(call("tokenizer", "show", "broken.json", "--text", "a"), "not-a-tokenizer", "broken.json")


def test_an_unknown_data_set() -> None:
    for command in ("get", "show"):
        refused(call("data", command, "shakespear"), "unknown-word", "'shakespeare'")


# Runs.


@pytest.mark.parametrize("command", ["resume", "evaluate", "sample", "report", "replay"])
def test_an_unknown_run(run: Path, command: str) -> None:
    refused(call(command, "tinny"), "unknown-run", "'tinny'", "'tiny'")
    refused(call(command, "no/where"), "unknown-run", "'no/where'")
    refused(call(command, "."), "not-a-run", "spec.toml")


def test_an_unknown_run_where_there_is_none(runs: Path) -> None:
    refused(call("sample", "tiny"), "unknown-run", "'tiny'")


@pytest.mark.parametrize("command", ["resume", "evaluate", "sample", "report", "replay"])
def test_a_run_from_a_newer_version(run: Path, command: str) -> None:
    change_facts(run, format=99)
    refused(call(command, "tiny"), "newer-format", "99", "--upgrade")
    worked(call("runs"))


def test_an_existing_name(run: Path, text: Path, finished: Path) -> None:
    refused(train_on(str(text)), "run-exists", "'tiny'", "--name")
    assert weights(run) == weights(finished)


@pytest.mark.parametrize("name", ["../x", ".hidden", "a b", "a/b", "-x", "x" * 200, "é"])
def test_a_bad_name(runs: Path, text: Path, name: str) -> None:
    outcome = call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}", f"--name={name}")
    refused(outcome, "bad-name", repr(name))
    assert folders(runs) == []
    assert not Path("x").exists()


def test_a_run_in_use(run: Path, finished: Path) -> None:
    shutil.rmtree(checkpoints(run)[-1])
    with RunFolder(run).locked():
        refused(resume(), "in-use", str(os.getpid()), "--name")
        worked(call("sample", "tiny", "--tokens", "2"))
    worked(resume())
    assert weights(run) == weights(finished)


def test_a_file_where_the_runs_folder_should_be(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("occupied").write_text("")
    monkeypatch.setenv("GLASSHOUSE_RUNS", "occupied")
    with no_longer_than(seconds=20):
        refused(call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}"), "cannot-write")
        refused(train_on(str(text)), "cannot-write", "GLASSHOUSE_RUNS")
    assert Path("occupied").read_text() == ""


def test_a_file_where_the_cache_should_be(runs: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("occupied").write_text("")
    monkeypatch.setenv("GLASSHOUSE_CACHE", "occupied")
    refused(train_on(str(text)), "cannot-write-cache", "GLASSHOUSE_CACHE")
    assert folders(runs) == []


def test_a_text_that_has_changed_since(run: Path, runs: Path) -> None:
    Path("mine.txt").write_text(some_text(seed=5))
    worked(train("training.steps=2", "data.files=mine.txt", name="mine"))
    shutil.rmtree(checkpoints(runs / "mine")[-1])
    Path("mine.txt").write_text(some_text(seed=6))
    refused(resume("mine"), "data-changed")
    Path("mine.txt").unlink()
    refused(resume("mine"), "unreadable-file", "mine.txt")


# Damage. A damaged file costs the steps since the last good checkpoint and no more.


def cut_in_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def put_a_stranger(file: Path) -> None:
    file.write_bytes(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins\x94.")


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.safetensors", cut_in_half),
        ("model.safetensors", flip_a_bit),
        ("model.safetensors", put_a_stranger),
        ("model.safetensors", empty),
        ("model.safetensors", Path.unlink),
        ("optimiser.safetensors", flip_a_bit),
        ("state.json", cut_in_half),
        ("state.json", put_a_stranger),
        ("state.json", Path.unlink),
    ],
)
def test_a_damaged_checkpoint(run: Path, finished: Path, name: str, damage: Callable[[Path], None]) -> None:
    newest = checkpoints(run)[-1]
    damage(newest / name)
    sampled = worked(call("sample", "tiny", "--tokens", "2"))
    assert newest.name in sampled.err
    outcome = worked(resume())
    assert newest.name in outcome.err
    assert "the one before it is used" in outcome.err
    assert "step 8/8" in outcome.err
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


def test_every_checkpoint_damaged(run: Path, finished: Path) -> None:
    for checkpoint in checkpoints(run):
        cut_in_half(checkpoint / "model.safetensors")
    refused(call("sample", "tiny"), "no-checkpoint")
    worked(resume())
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


def test_a_file_of_another_format_with_a_fitting_checksum(run: Path, finished: Path) -> None:
    newest = checkpoints(run)[-1]
    put_a_stranger(newest / "model.safetensors")
    state = json.loads((newest / "state.json").read_text())
    found = hashlib.blake2b((newest / "model.safetensors").read_bytes(), digest_size=16).hexdigest()
    state["checksums"]["model.safetensors"] = found
    (newest / "state.json").write_text(json.dumps(state))
    outcome = worked(resume())
    assert "not a safetensors file" in outcome.err
    assert weights(run) == weights(finished)


def test_a_checkpoint_of_another_model(run: Path, runs: Path, text: Path) -> None:
    worked(train(*STEPS, f"data.files={text}", "model.width=32", name="wider"))
    shutil.rmtree(checkpoints(run)[-1])
    shutil.copytree(checkpoints(runs / "wider")[-1], run / "checkpoints" / "step-00000008")
    # It is whole, so nothing is deleted; the message says which folder does not fit, and how.
    change_facts(run, status="training")
    refused(resume(), "wrong-tensor-shape", "step-00000008")
    refused(call("sample", "tiny"), "wrong-tensor-shape")


def test_a_foreign_folder_among_the_checkpoints(run: Path, finished: Path) -> None:
    shutil.rmtree(checkpoints(run)[-1])
    (run / "checkpoints" / "step-old").mkdir()
    (run / "checkpoints" / "notes.txt").write_text("mine")
    worked(call("sample", "tiny", "--tokens", "2"))
    worked(resume())
    (run / "checkpoints" / "step-old").rmdir()
    assert weights(run) == weights(finished)


def test_the_best_checkpoint_damaged_before_the_end(run: Path) -> None:
    # As after an early best that no later evaluation reached: it is kept for the end, beside the latest two.
    shutil.copytree(run / "checkpoints" / "step-00000006", run / "checkpoints" / "step-00000004")
    for checkpoint in checkpoints(run)[1:]:
        state = json.loads((checkpoint / "state.json").read_text())
        state["values"]["best"] = {"step": 4, "value": 0.001}
        (checkpoint / "state.json").write_text(json.dumps(state))
    cut_in_half(run / "checkpoints" / "step-00000004" / "model.safetensors")
    change_facts(run, status="training", outcome=None, best=None)
    outcome = worked(resume())
    assert "step-00000004" in outcome.err
    assert "validation" in outcome.out


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty-spec"),
        (b"[model", "not-toml"),
        (b"\xff\xff", "unreadable-spec"),
        (b"[model]\nwidth = -5", "out-of-range"),
        (b"[model]\nunheard = 1", "unknown-field"),
    ],
    ids=repr,
)
def test_a_damaged_spec(run: Path, content: bytes, code: str) -> None:
    (run / "spec.toml").write_bytes(content)
    for command in ("resume", "sample", "evaluate", "report"):
        refused(call(command, "tiny"), code, "spec.toml")
    # The list reads the file and builds no model: it finds what is no TOML, and leaves the rest to who opens the run.
    listed = worked(call("runs")).out
    assert "tiny" in listed
    assert ("damaged" in listed) == (not content.startswith(b"[model]"))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xff", b"[]", b"1"], ids=repr)
def test_a_damaged_record(run: Path, content: bytes) -> None:
    (run / "run.json").write_bytes(content)
    for command in ("resume", "sample", "evaluate", "report"):
        refused(call(command, "tiny"), "not-a-run", "run.json")
    assert "damaged" in worked(call("runs")).out


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xff", b"[]"], ids=repr)
def test_a_damaged_tokenizer(run: Path, content: bytes) -> None:
    (run / "tokenizer.json").write_bytes(content)
    for command in ("resume", "sample", "evaluate", "report"):
        refused(call(command, "tiny"), "not-a-tokenizer", "tokenizer.json")


def test_a_metric_log_with_a_cut_last_line(run: Path, finished: Path) -> None:
    log = run / "metrics.jsonl"
    log.write_bytes(log.read_bytes()[:-30])
    shutil.rmtree(checkpoints(run)[-1])
    worked(call("runs"))
    worked(call("report", "tiny"))
    worked(resume())
    assert losses(run) == losses(finished)


@pytest.mark.parametrize("line", [b"\x00" * 50, b"\xff\xfe{", b'{"loss": 1.0}\n', b"[1]\n", b"7\n"], ids=repr)
def test_a_metric_log_with_a_foreign_last_line(run: Path, finished: Path, line: bytes) -> None:
    log = run / "metrics.jsonl"
    log.write_bytes(log.read_bytes() + line)
    shutil.rmtree(checkpoints(run)[-1])
    worked(call("runs"))
    worked(call("report", "tiny"))
    worked(resume())
    assert losses(run) == losses(finished)


# A full disk.


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runs folder on a file system of its own that holds two checkpoints of the tiny run and not a third."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small file system needs to be root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not possible here")
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(folder))
    yield folder
    subprocess.run(["umount", folder], check=True)


def make_room(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)


def test_the_disk_is_full_while_training(small_disk: Path, text: Path, finished: Path) -> None:
    refused(train(*STEPS, f"data.files={text}"), "cannot-save-checkpoint")
    run = small_disk / "tiny"
    stands = [path.name for path in checkpoints(run)]
    assert 0 < len(stands) < 4
    assert list((run / "checkpoints").glob(".*")) == []
    worked(call("sample", "tiny", "--tokens", "2"))
    make_room(small_disk)
    worked(resume())
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


@pytest.mark.parametrize("left", [0, 8192])
def test_the_disk_is_full_from_the_start(small_disk: Path, finished: Path, left: int) -> None:
    run = shutil.copytree(finished, small_disk / "tiny", ignore=shutil.ignore_patterns("step-00000008", "report.html"))
    change_facts(run, status="training", outcome=None, best=None)
    before = weights(run)
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize - left))
    refused(resume(), "cannot-save-checkpoint" if left else "cannot-use-file", "No space left", "tiny")
    assert weights(run) == before
    (small_disk / "ballast").unlink()
    make_room(small_disk)
    worked(resume())
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


def test_no_room_for_a_new_run(small_disk: Path, text: Path) -> None:
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize))
    refused(train_on(str(text)), "cannot-write")
    assert folders(small_disk) == ["ballast"]


@pytest.mark.parametrize("status", ["done", "training"])
def test_a_disk_that_is_read_only(small_disk: Path, finished: Path, status: str) -> None:
    make_room(small_disk)
    run = shutil.copytree(finished, small_disk / "tiny")
    change_facts(run, status=status)
    (run / ".lock").unlink()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "tiny" in worked(call("runs")).out
    worked(call("sample", "tiny", "--tokens", "2"))
    worked(call("evaluate", "tiny"))
    for command in ("report", "resume"):
        refused(call(command, "tiny"), "cannot-use-file")


@pytest.fixture
def short_files() -> Iterator[Callable[[int], None]]:
    """Sets the largest size that a file may have, which the tests after it do not feel."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_checkpoint_that_cannot_be_written(run: Path, finished: Path, short_files: Callable[[int], None]) -> None:
    shutil.rmtree(checkpoints(run)[-1])
    before = weights(run)
    short_files(30000)
    outcome = resume()
    short_files(resource.RLIM_INFINITY)
    refused(outcome, "cannot-save-checkpoint")
    assert weights(run) == before
    assert list((run / "checkpoints").glob(".*")) == []
    worked(resume())
    assert weights(run) == weights(finished)


# Numbers that are not finite.

EXPLODING = ("training.learning_rate=1e30", "training.clip=0", "training.warmup=0", "training.schedule=constant")


def test_a_loss_that_is_not_finite(runs: Path, text: Path) -> None:
    outcome = train(*EXPLODING, f"data.files={text}", "training.steps=20", "evaluation.every=20")
    message = refused(outcome, "training-failed", "training.learning_rate")
    place = message.split("first in the ")[1].split(";")[0]
    failure = runs / "tiny" / "failure"
    assert sorted(path.name for path in failure.iterdir()) == ["batch.safetensors", "failure.json", "model.safetensors"]
    shown = worked(call("replay", "tiny")).out
    assert f"it began in the {place}" in shown
    assert "<-" in shown
    assert len(worked(call("replay", "tiny", "--all")).out) > len(shown)
    assert "failed" in worked(call("runs")).out
    worked(call("report", "tiny"))
    # Continuing repeats the same step, and fails in the same way.
    refused(resume(), "training-failed", place)


def test_replay_of_a_run_that_never_failed(run: Path) -> None:
    refused(call("replay", "tiny"), "no-failure")


def test_replay_of_a_damaged_failure(runs: Path, text: Path) -> None:
    train(*EXPLODING, f"data.files={text}", "training.steps=20", "evaluation.every=20")
    failure = runs / "tiny" / "failure"
    (failure / "failure.json").write_text("{")
    refused(call("replay", "tiny"), "unreadable-failure", "failure.json")
    (failure / "failure.json").write_text('{"step": 1}')
    cut_in_half(failure / "batch.safetensors")
    refused(call("replay", "tiny"), "damaged-checkpoint", "batch.safetensors")
    (failure / "batch.safetensors").unlink()
    refused(call("replay", "tiny"), "damaged-checkpoint", "batch.safetensors")
