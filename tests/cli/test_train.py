"""`glasshouse train`: files, tokenizers, names, loggers, and a dry run."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, SpecError
from tests import needs

from .program import (
    SMALL,
    TWO_STEPS,
    call,
    checkpoints,
    folders,
    refused,
    some_text,
    train,
    weights,
    worked,
)


def test_train(runs: Path, text: Path) -> None:
    outcome = worked(call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}"))
    run = runs / "language-model"
    assert "validation" in outcome.out
    assert "test" in outcome.out
    assert str(run / "report.html") in outcome.out
    for name in ("spec.toml", "run.json", "tokenizer.json", "metrics.jsonl", "report.html"):
        assert (run / name).stat().st_size > 0
    assert [path.name for path in checkpoints(run)] == ["step-00000002"]
    facts = json.loads((run / "run.json").read_text())
    assert facts["status"] == "done"
    assert facts["outcome"]["validation"]["perplexity"] > 1
    assert [name for name in folders(run) if name.endswith(".tmp")] == []


def test_train_again_takes_the_next_free_name(runs: Path, text: Path) -> None:
    for _ in range(2):
        worked(call("train", "language-model", *SMALL, "training.steps=1", f"data.files={text}"))
    assert folders(runs) == ["language-model", "language-model-2"]


def test_train_from_a_spec_file_gives_the_same_weights(runs: Path, finished: Path) -> None:
    worked(call("train", str(finished / "spec.toml"), "--name", "again", "--device", "cpu"))
    assert weights(runs / "again") == weights(finished)


def test_train_dry_run_trains_nothing(runs: Path, text: Path) -> None:
    shown = worked(call("train", "language-model", *SMALL, f"data.files={text}", "--dry-run")).out
    for words in ("parameters", "FLOPs", "memory", "time", "embedding"):
        assert words in shown
    assert folders(runs) == []


def test_train_on_a_plain_file_with_a_relative_path(runs: Path, text: Path) -> None:
    shutil.copy(text, "mine.txt")
    worked(train(*TWO_STEPS, "data.files=mine.txt"))
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    worked(call("evaluate", "tiny"))


def test_train_on_a_gzip_file(runs: Path, text: Path, finished: Path) -> None:
    Path("mine.txt.gz").write_bytes(gzip.compress(text.read_bytes()))
    overrides = ("training.steps=8", "training.checkpoint_every=2", "evaluation.every=4")
    worked(train(*overrides, "data.files=mine.txt.gz"))
    assert weights(runs / "tiny") == weights(finished), "the same text gives the same run, compressed or not"


def test_train_on_two_files(runs: Path) -> None:
    Path("a.txt").write_text(some_text(seed=1))
    Path("b.txt").write_text(some_text(seed=2))
    worked(train(*TWO_STEPS, "data.files=[a.txt,b.txt]"))
    spec = (runs / "tiny" / "spec.toml").read_text()
    assert str(Path("a.txt").absolute()) in spec
    assert str(Path("b.txt").absolute()) in spec


def test_train_on_json_lines(runs: Path) -> None:
    rows = [json.dumps({"id": seed, "body": some_text(100, seed)}) for seed in range(60)]
    Path("mine.jsonl").write_text("\n".join(rows) + "\n")
    worked(train(*TWO_STEPS, "data.files=mine.jsonl", "data.field=body"))
    assert "test" in worked(call("evaluate", "tiny")).out


@pytest.mark.parametrize("tokenizer", ["words", "characters"])
def test_train_with_another_tokenizer(text: Path, tokenizer: str) -> None:
    worked(train(*TWO_STEPS, f"data.files={text}", f"data.tokenizer={tokenizer}"))
    worked(call("sample", "tiny", "--prompt", "ba", "--tokens", "5"))


def test_train_with_a_tokenizer_file(runs: Path, text: Path) -> None:
    worked(call("tokenizer", "train", str(text), "--vocabulary", "310", "--output", "mine.json"))
    worked(train(*TWO_STEPS, f"data.files={text}", "data.tokenizer_file=mine.json"))
    assert len(json.loads((runs / "tiny" / "tokenizer.json").read_text())["model"]["vocab"]) == 310


def test_train_without_held_out_text(text: Path) -> None:
    worked(train(*TWO_STEPS, f"data.files={text}", "data.validation=0", "data.test=0"))
    worked(call("report", "tiny"))
    refused(call("evaluate", "tiny"), GlasshouseError, "--data")


def test_train_writes_event_files_for_tensorboard(runs: Path, text: Path) -> None:
    needs.package("tensorboard")
    worked(train(*TWO_STEPS, f"data.files={text}", "training.loggers=[tensorboard]"))
    assert list((runs / "tiny" / "tensorboard").iterdir())


def test_batch_norm_in_parts_is_refused(text: Path) -> None:
    changes = ("model.norm=batch", "training.gradient_accumulation=2", "training.steps=2")
    refused(train(f"data.files={text}", *changes), SpecError, "training.gradient_accumulation=2")
