"""Damaged run folders. A damaged file costs at most the steps since the last intact checkpoint."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from glasshouse.records.checkpoint import _digest
from glasshouse.specs.errors import GlasshouseError, RunError, SpecError

from .conftest import STEPS
from .program import (
    call,
    change_facts,
    checkpoints,
    losses,
    refused,
    resume,
    train,
    truncate_file,
    weights,
    worked,
)


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
        ("model.safetensors", truncate_file),
        ("model.safetensors", flip_a_bit),
        ("model.safetensors", put_a_stranger),
        ("model.safetensors", empty),
        ("model.safetensors", Path.unlink),
        ("optimiser.safetensors", flip_a_bit),
        ("state.json", truncate_file),
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
    assert "an earlier checkpoint is used instead" in outcome.err
    assert "step 8/8" in outcome.err
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


def test_every_checkpoint_damaged(run: Path, finished: Path) -> None:
    for checkpoint in checkpoints(run):
        truncate_file(checkpoint / "model.safetensors")
    refused(call("sample", "tiny"), RunError)
    worked(resume())
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


def test_a_file_of_another_format_with_a_fitting_checksum(run: Path, finished: Path) -> None:
    newest = checkpoints(run)[-1]
    put_a_stranger(newest / "model.safetensors")
    state = json.loads((newest / "state.json").read_text())
    found = hashlib.blake2b((newest / "model.safetensors").read_bytes(), digest_size=16).hexdigest()
    state["checksums"]["model.safetensors"] = found
    del state["digest"]
    state["digest"] = _digest(state)
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
    refused(resume(), GlasshouseError, "step-00000008")
    refused(call("sample", "tiny"), GlasshouseError)


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
    truncate_file(run / "checkpoints" / "step-00000004" / "model.safetensors")
    change_facts(run, status="training", outcome=None, best=None)
    outcome = worked(resume())
    assert "step-00000004" in outcome.err
    assert "validation" in outcome.out


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", GlasshouseError),
        (b"[model", SpecError),
        (b"\xff\xff", SpecError),
        (b"[model]\nwidth = -5", GlasshouseError),
        (b"[model]\nunheard = 1", GlasshouseError),
    ],
    ids=repr,
)
def test_a_damaged_spec(run: Path, content: bytes, kind: type[GlasshouseError]) -> None:
    (run / "spec.toml").write_bytes(content)
    for command in ("resume", "sample", "evaluate", "report"):
        refused(call(command, "tiny"), kind, "spec.toml")
    # The list reads the file and builds no model: it finds what is no TOML, and leaves the rest to who opens the run.
    listed = worked(call("runs")).out
    assert "tiny" in listed
    assert ("damaged" in listed) == (not content.startswith(b"[model]"))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xff", b"[]", b"1"], ids=repr)
def test_a_damaged_record(run: Path, content: bytes) -> None:
    (run / "run.json").write_bytes(content)
    for command in ("resume", "sample", "evaluate", "report"):
        refused(call(command, "tiny"), GlasshouseError, "run.json")
    assert "damaged" in worked(call("runs")).out


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xff", b"[]"], ids=repr)
def test_a_damaged_tokenizer(run: Path, content: bytes) -> None:
    (run / "tokenizer.json").write_bytes(content)
    for command in ("resume", "sample", "evaluate", "report"):
        refused(call(command, "tiny"), GlasshouseError, "tokenizer.json")


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
