"""`glasshouse replay` of a step whose loss is not finite."""

from pathlib import Path

from glasshouse.specs.errors import GlasshouseError, RunError

from .program import (
    call,
    refused,
    resume,
    train,
    truncate_file,
    worked,
)

EXPLODING = ("training.learning_rate=1e30", "training.clip=0", "training.warmup=0", "training.schedule=constant")


def test_a_loss_that_is_not_finite(runs: Path, text: Path) -> None:
    outcome = train(*EXPLODING, f"data.files={text}", "training.steps=20", "evaluation.every=20")
    message = refused(outcome, RunError, "training.learning_rate")
    place = message.split("first in the ")[1].split(";")[0]
    failure = runs / "tiny" / "failure"
    assert sorted(path.name for path in failure.iterdir()) == ["batch.safetensors", "failure.json", "model.safetensors"]
    shown = worked(call("replay", "tiny")).out
    assert f"the first value that is not finite is in the {place}" in shown
    assert "<-" in shown
    assert len(worked(call("replay", "tiny", "--all")).out) > len(shown)
    assert "failed" in worked(call("runs")).out
    worked(call("report", "tiny"))
    # Continuing repeats the same step, and fails in the same way.
    refused(resume(), RunError, place)


def test_replay_of_a_run_that_never_failed(run: Path) -> None:
    refused(call("replay", "tiny"), RunError)


def test_replay_of_a_damaged_failure(runs: Path, text: Path) -> None:
    train(*EXPLODING, f"data.files={text}", "training.steps=20", "evaluation.every=20")
    failure = runs / "tiny" / "failure"
    (failure / "failure.json").write_text("{")
    refused(call("replay", "tiny"), RunError, "failure.json")
    (failure / "failure.json").write_text('{"step": 1}')
    truncate_file(failure / "batch.safetensors")
    refused(call("replay", "tiny"), GlasshouseError, "batch.safetensors")
    (failure / "batch.safetensors").unlink()
    refused(call("replay", "tiny"), GlasshouseError, "batch.safetensors")
