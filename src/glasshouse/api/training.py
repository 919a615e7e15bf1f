"""Train: a recipe, its replicas, a run that was interrupted; and what training would cost."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from glasshouse.inspection import run_report
from glasshouse.records import progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs import resolve_spec
from glasshouse.runs.resolve_spec import spec_of
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError, Interrupted, RunError, SpecError
from glasshouse.specs.recipes import DEMO
from glasshouse.studies import study_folder, study_runner
from glasshouse.studies.study import Study
from glasshouse.training import cost_plan, devices, loop, nonfinite
from glasshouse.training import resume as resuming
from glasshouse.training.cost_plan import Plan
from glasshouse.training.engine import load_weights
from glasshouse.training.job import Job
from glasshouse.training.nonfinite import ModuleOutput

__all__ = ["DEMO", "Replay", "plan", "replay", "resume", "spec_of", "train", "train_replicas"]


def train(
    recipe: str = DEMO, *overrides: str, name: str | None = None, device: str = "auto", **sections: dict[str, Any]
) -> Run:
    """Train a recipe, with any field of its spec changed.

    `train("demo-lm", model={"position": "learned"})` and `train("demo-lm", "model.position=learned")` do the same. The run
    lies in the runs folder under `name`, or under the recipe's name.
    """
    devices.pick(device)
    spec = spec_of(recipe, *overrides, **sections)
    if spec.training.replicas > 1:
        raise SpecError(
            "several-runs", f"training.replicas={spec.training.replicas} gives several runs: call train_replicas for them"
        )
    run = run_folder.create(spec, name, resolve_spec.name_of(recipe))
    try:
        return _train(run, device)
    except (GlasshouseError, OSError):
        run.discard_unbegun()
        raise


def train_replicas(
    recipe: str = DEMO, *overrides: str, name: str | None = None, device: str = "auto", **sections: dict[str, Any]
) -> list[Run]:
    """Train a recipe `training.replicas` times, with seeds seed, seed + 1, ..., side by side where that is faster.

    Each replica is a run of its own. The runs that did not diverge are returned. Their reports are written on request.
    """
    devices.pick(device)
    spec = spec_of(recipe, *overrides, **sections)
    seeds = range(spec.training.seed, spec.training.seed + spec.training.replicas)
    each = {f"seed-{seed}": replace(spec, training=replace(spec.training, seed=seed, replicas=1)) for seed in seeds}
    runs = run_folder.create_family(each, name, resolve_spec.name_of(recipe))
    try:
        return _train_together(runs, device)
    except Interrupted:
        raise
    except (GlasshouseError, OSError):
        if all(run.status() in (Status.NEW, Status.INTERRUPTED) for run in runs):
            for run in runs:
                run.discard_unbegun()
        raise


def resume(name: str | PathLike[str], device: str = "auto") -> Run | Study:
    """Continue an interrupted run from its newest whole checkpoint to its end, or a study to its verdicts.

    A replica is continued together with all runs that were started with it.
    """
    if study := study_folder.named(name):
        return Study(study_runner.go_on(study, device))
    found = run_folder.find(name)
    # A family was asked for together; companions take their steps together, in a study too.
    if len(others := found.family()) > 1 or len(others := resuming.companions(found)) > 1:
        _train_together(others, device)
        return Run(found, device)
    return _train(found, device)


def plan(recipe: str = DEMO, *overrides: str, device: str = "auto", **sections: dict[str, Any]) -> Plan:
    """What training a recipe would cost: parameters, FLOPs, memory and time. Measures a few steps on the device."""
    spec = spec_of(recipe, *overrides, **sections)
    return cost_plan.make(Job.of(spec, devices.pick(device)))


@dataclass(frozen=True)
class Replay:
    """A failed step, repeated: its number, its loss, the output of every module, and where it first went wrong."""

    step: int
    loss: float
    outputs: list[ModuleOutput]
    culprit: ModuleOutput | None


def replay(run: str | PathLike[str], device: str = "cpu") -> Replay:
    """Repeat the step at which a run's loss or gradient stopped being finite."""
    opened = Run(run, device)
    if not (opened.folder.failure / "failure.json").exists():
        raise RunError("no-failure", f"{opened.name} has no failed step to replay: none of its losses was NaN or infinite")
    step, batch, weights = nonfinite.load(opened.folder.failure)
    engine = Job.of(opened.spec, opened.device, opened.tokenizer).engine()
    load_weights(engine.model, weights, str(opened.folder.failure))
    loss, outputs = nonfinite.examine(engine, step, batch)
    return Replay(step, loss, outputs, nonfinite.first_bad(outputs))


def _train_together(runs: Sequence[RunFolder], device: str) -> list[Run]:
    """Train replicas to their ends; the runs that did not diverge."""
    began = time.perf_counter()
    failed = loop.train_group(runs, device)
    trained = [Run(run, device) for run in runs if run.status() == Status.DONE]
    if not trained:
        raise RunError(
            "training-failed",
            failed[0] if failed else f"{runs[0].name} and its companions have all failed; lower the learning rate",
        )
    progress_bar.say(f"{len(trained)} of {len(runs)} runs: done in {time.perf_counter() - began:.0f} s")
    return trained


def _train(run: RunFolder, device: str) -> Run:
    began = time.perf_counter()
    went_on = loop.train(run, device)
    trained = Run(run, device)
    run_report.write(trained)
    if went_on:
        progress_bar.say(f"{run.name}: done in {time.perf_counter() - began:.0f} s")
    return trained
