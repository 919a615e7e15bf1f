"""Public functions that train a recipe or replicas, resume a run, predict the cost of training, and measure this machine."""

import time
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, overload

from glasshouse.api import reports, submission
from glasshouse.api.reports import train_folder
from glasshouse.api.runs import Run
from glasshouse.api.studies import Study
from glasshouse.formatting import duration, flops
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.launching.submission import Submission
from glasshouse.records import machine, progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs import baseline_comparison, resolve_spec
from glasshouse.runs.resolve_spec import spec_of
from glasshouse.specs.errors import GlasshouseError, Interrupted, RunError, SpecError
from glasshouse.specs.recipes import DEMO
from glasshouse.studies import places, study_folder, study_runner
from glasshouse.training import compute_choice, cost_plan, devices, format_timing, loop, replica_count, torchrun
from glasshouse.training.cost_plan import Plan
from glasshouse.training.format_timing import SpeedMeasurement
from glasshouse.training.job import Job
from glasshouse.training.loop import run_as_rank
from glasshouse.training.resume import companions

__all__ = ["DEMO", "plan", "resume", "run_as_rank", "spec_of", "train", "train_replicas"]


@overload
def train(
    recipe: str = DEMO, *overrides: str, name: str | None = None, device: str = "auto", on: None = None, **sections: Any
) -> Run: ...
@overload
def train(
    recipe: str = DEMO, *overrides: str, name: str | None = None, device: str = "auto", on: Slurm, **sections: Any
) -> Submission: ...
def train(
    recipe: str = DEMO,
    *overrides: str,
    name: str | None = None,
    device: str = "auto",
    on: Slurm | None = None,
    **sections: Any,
) -> Run | Submission:
    """Train a recipe, optionally with changed fields.

    `train("demo-lm", model={"position": "learned"})` and `train("demo-lm", "model.position=learned")` do the same. The run
    is stored in the runs folder under `name`, or under the name of the recipe. With `on=Slurm(time="4:00:00")` a job trains
    it, and is returned.
    """
    if on:
        recipe, *words = resolve_spec.words_of(recipe, *overrides, **sections)
        return submission.submit_training(recipe, *words, name=name, device=device, on=on)
    devices.pick(device)
    spec = resolve_spec.run_spec(recipe, *overrides, **sections)
    if spec.training.replicas > 1:
        raise SpecError(
            "trains several runs; call train_replicas instead of train", "training.replicas", spec.training.replicas
        )
    asked = resolve_spec.words_of(recipe, *overrides, **sections)
    run = run_folder.create(spec, name, resolve_spec.name_of(recipe), asked=asked)
    try:
        return Run(train_folder(run, device), device)
    except (GlasshouseError, OSError):
        run.delete_if_new()
        raise


def train_replicas(
    recipe: str = DEMO, *overrides: str, name: str | None = None, device: str = "auto", **sections: dict[str, Any]
) -> list[Run]:
    """Train a recipe `training.replicas` times, with the seeds seed, seed + 1, ...

    Each replica is a separate run. They train together on the device if that is faster by rule. The runs
    that did not diverge are returned. No reports are written; call `report`.
    """
    devices.pick(device)
    spec = resolve_spec.run_spec(recipe, *overrides, **sections)
    seeds = range(spec.training.seed, spec.training.seed + spec.training.replicas)
    specs = [replace(spec, training=replace(spec.training, seed=seed, replicas=1)) for seed in seeds]
    asked = resolve_spec.words_of(recipe, *overrides, **sections)
    runs = run_folder.create_siblings(specs, name, resolve_spec.name_of(recipe), asked=asked)
    try:
        return _train_together(runs, device)
    except Interrupted:
        raise
    except (GlasshouseError, OSError):
        if all(run.status() in (Status.NEW, Status.INTERRUPTED) for run in runs):
            for run in runs:
                run.delete_if_new()
        raise


def resume(
    name: str | PathLike[str], device: str = "auto", processes: int | None = None, on: Slurm | None = None
) -> Run | Study | Submission:
    """Continue an interrupted run from its newest intact checkpoint, or an interrupted study.

    A replica is continued together with all runs that were started with it. `processes` is another number of processes for
    a run; its checkpoints do not depend on it. With `on=Slurm()` jobs continue it, and are returned.
    """
    if study := study_folder.find_unambiguous(name):
        if processes is not None:
            raise SpecError(f"is for a run, and {name} is a study; leave it out", "processes", processes)
        place = places.place_of(on, ["resume", str(study.path.absolute())], device)
        continued = study_runner.continue_study(study, place, reports.write_study)
        return continued if isinstance(continued, Submission) else Study(continued)
    if on:
        return submission.submit_resume(name, device, on)
    run = run_folder.find(name)
    run_folder.create_missing_siblings(run)
    if processes is not None:
        # Replicas stay replicas: they may not differ in their number of processes.
        for sibling in run.siblings():
            with sibling.locked():
                torchrun.set_processes(sibling, processes)
    # Siblings were created by one call of `train_replicas`. Companions are trained as one group, also within a study.
    if len(group := run.siblings()) > 1 or len(group := companions(run)) > 1:
        _train_together(group, device)
        return Run(run, device)
    return Run(train_folder(run, device), device)


def plan(recipe: str = DEMO, *overrides: str, device: str = "auto", **sections: dict[str, Any]) -> Plan:
    """Predict the cost of training a recipe: parameters, FLOPs, memory and time. Runs a few steps on the device.

    What does not fit into its memory is priced too; a note says so.
    """
    spec = resolve_spec.run_spec(recipe, *overrides, **sections)
    return cost_plan.make(Job.prepare(spec, devices.pick(device), even_if_too_large=True), even_if_too_large=True)


def doctor(device: str = "auto") -> dict[str, str]:
    """Describe this machine, and measure the speed of its matrix products."""
    chosen = devices.pick(device)
    size = 512 if chosen.type == "cpu" else 8192
    facts = machine.describe(str(chosen)) | {
        "number format by rule": compute_choice.precisions_text(chosen),
        "several seeds by rule": replica_count.rule_text(chosen),
    }
    if chosen.type == "cpu":
        facts["threads by rule"] = compute_choice.threads_text()
    facts |= format_timing.fast_paths(chosen)
    for name in devices.MATMUL_FORMATS:
        facts[f"matrix products, {name}"] = f"{flops(devices.matmul_flop_rate(chosen, name, size))}/s"
    return facts


def measure_steps(recipe: str = DEMO, *overrides: str, device: str = "auto", **sections: dict[str, Any]) -> SpeedMeasurement:
    """Time the training steps of a recipe in each number format and on several numbers of CPU threads, and without what
    makes them fast here. Nothing is kept: `training.precision` and `training.threads` set what was fastest."""
    job = Job.prepare(spec_of(recipe, *overrides, **sections), devices.pick(device))
    with progress_bar.bar("measuring", outer=True) as show, progress_bar.quiet():
        return format_timing.measure(job, show)


def _train_together(runs: Sequence[RunFolder], device: str) -> list[Run]:
    """Train replicas and return the runs that did not diverge."""
    start = time.perf_counter()
    failed = loop.train_group(runs, device)
    trained = [Run(run, device) for run in runs if run.status() == Status.DONE]
    if not trained:
        raise RunError(
            failed[0]
            if failed
            else f"all runs that were trained with {runs[0].name} have failed; lower training.learning_rate"
        )
    for run in trained:
        baseline_comparison.ensure(run)
    progress_bar.say(f"{len(trained)} of {len(runs)} runs: done in {duration(time.perf_counter() - start)}")
    return trained
