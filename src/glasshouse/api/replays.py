"""Repeat the failed step of a run."""

from dataclasses import dataclass
from os import PathLike

from glasshouse.api.opened_run import run_of
from glasshouse.specs.errors import RunError
from glasshouse.training import nonfinite
from glasshouse.training.engine import load_weights
from glasshouse.training.job import Job
from glasshouse.training.nonfinite import ModuleOutput


@dataclass(frozen=True)
class Replay:
    """A failed step, repeated: its number, its loss, the output of every module, and the first output that is not finite."""

    step: int
    loss: float
    outputs: list[ModuleOutput]
    culprit: ModuleOutput | None


def replay(run: str | PathLike[str], device: str = "cpu") -> Replay:
    """Repeat the step at which the loss or the gradient of a run became NaN or infinite."""
    opened = run_of(run, device)
    if not (opened.folder.failure / "failure.json").exists():
        raise RunError(
            f"{opened.name} has no failed step: all its losses and gradients are finite, so there is nothing to replay"
        )
    step, batch, weights = nonfinite.load(opened.folder.failure)
    engine = Job.prepare(opened.spec, opened.device, opened.tokenizer).engine()
    load_weights(engine.model, weights, str(opened.folder.failure))
    loss, outputs = nonfinite.examine(engine, step, batch)
    return Replay(step, loss, outputs, nonfinite.first_nonfinite(outputs))
