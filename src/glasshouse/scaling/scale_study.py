"""A scaling study on disk: a folder with `scaling.json` and a run for each size, budget and seed.

The plan is written before the first run. Runs of one shape and budget train together as replicas where that is faster. The
same command continues a study that was interrupted.
"""

import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.records import atomic_files, lock, progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs import resolve_spec
from glasshouse.scaling import compute_optimal, scale_plan
from glasshouse.scaling.measurements import FLOPS_PER_PARAMETER_AND_TOKEN, MeasuredLosses
from glasshouse.scaling.scale_plan import PlannedSize, ScalePlan
from glasshouse.specs import spec_files
from glasshouse.specs.errors import Interrupted, RunError
from glasshouse.specs.spec import Spec
from glasshouse.studies import run_queue, study_folder, study_metric, study_planning, study_results
from glasshouse.studies.run_queue import QueuedRun
from glasshouse.training import cost_plan, devices, replica_count
from glasshouse.training.job import Job
from glasshouse.version import __version__

FILE, FORMAT = "scaling.json", 1
EXACT, SIX_ND = FLOP_COUNTS = ("exact", "6ND")


@dataclass(frozen=True)
class SizeRuns:
    """One size at one budget, as it is trained: its spec, its counts, and how many seeds may train together."""

    name: str
    budget: float
    spec: str  # as TOML
    parameters: dict[str, int]
    tokens: int
    steps: int
    flops: float
    epochs: float
    facts: dict[str, Any]
    replicas: int = 1


@dataclass(frozen=True)
class ScaleStudy:
    """A scaling study: its folder and everything that was decided before its runs.

    seconds: the predicted time of all runs on the machine of the plan.
    """

    path: Path
    words: tuple[str, ...]
    metric: str
    seeds: tuple[int, ...]
    train_tokens: int
    sizes: tuple[SizeRuns, ...]
    seconds: float
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def budgets(self) -> list[float]:
        return sorted({size.budget for size in self.sizes})

    @property
    def flops(self) -> float:
        """The compute of all runs."""
        return len(self.seeds) * sum(size.flops for size in self.sizes)

    def run(self, size: SizeRuns, seed: int) -> RunFolder:
        return RunFolder(self.path / f"{size.budget:.3g}" / size.name / f"seed-{seed}")

    def ended(self) -> int:
        """How many runs have ended."""
        runs = [self.run(size, seed) for size in self.sizes for seed in self.seeds]
        return sum(run_queue.status(run) in run_queue.ENDED for run in runs)


def plan(
    words: Sequence[str],
    budgets: Sequence[float],
    sizes: int = 6,
    seeds: int = 3,
    name: str | None = None,
    device: str = "auto",
    tokens_per_parameter: float = scale_plan.TOKENS_PER_PARAMETER,
    spread: float = scale_plan.SPREAD,
    most_epochs: float = scale_plan.MOST_EPOCHS,
) -> ScaleStudy:
    """Plan a study and write its folder. Nothing is trained, but a few steps are timed."""
    recipe, *overrides = words
    folder = study_folder.root() / run_folder.checked_name(name or f"scaling-{Path(recipe).stem}", "study")
    if folder.exists():
        raise RunError(
            "study-exists", f"{folder} exists; run it with: glasshouse scale run {folder.name}, or choose another --name"
        )
    job = Job.prepare(resolve_spec.spec_of(recipe, *overrides), devices.pick(device))
    metric = f"{study_metric.default_metric(job.task, study_metric.held_out_splits(job.prepared.splits)).split('.')[0]}.loss"
    with progress_bar.bar("choosing shapes", outer=True) as show, progress_bar.quiet():
        chosen = scale_plan.make_plan(words, job, budgets, sizes, range(seeds), tokens_per_parameter, spread, most_epochs)
        show(0.3, "timing the largest model")
        runs, seconds = _as_trained(chosen, job, show)
    study = ScaleStudy(
        folder, chosen.words, metric, chosen.seeds, chosen.train_tokens, runs, seconds, (*job.notes, *chosen.notes)
    )
    with atomic_files.folder(folder) as temporary:
        atomic_files.write_json(temporary / FILE, _to_json(study))
    return study


def is_study_name(name: str | os.PathLike[str]) -> bool:
    """Whether a name means a scaling study, and not a file: a path that is no file and has no suffix of one."""
    path = Path(name)
    return _folder(path) is not None or not (path.is_file() or path.suffix)


def find(name: str | os.PathLike[str]) -> ScaleStudy:
    """The scaling study with that name in the studies folder, or at that path."""
    if (path := _folder(Path(name))) is not None:
        return _from_json(path)
    known = sorted(file.parent.name for file in study_folder.root().glob(f"*/{FILE}"))
    listing = f"there are: {', '.join(known)}" if known else "make one with: glasshouse scale plan RECIPE --budgets ..."
    raise RunError("unknown-study", f"there is no scaling study {str(name)!r} in {study_folder.root()}; {listing}")


def _folder(name: Path) -> Path | None:
    return next((path for path in (study_folder.root() / name, name) if (path / FILE).is_file()), None)


def train(study: ScaleStudy, device: str = "auto") -> None:
    """Train the runs that have not ended: the smallest budgets first, and all sizes of a budget before the next."""
    queue = [
        QueuedRun(
            study.run(size, seed),
            f"{size.budget:.3g} FLOPs, {size.name}, seed {seed}",
            study_planning.with_seed(spec_files.from_toml(size.spec, str(study.path / FILE)), seed),
            study.words[0],
            size.facts,
            size.replicas,
            f"{size.budget:.3g}/{size.name}",
        )
        for size in study.sizes
        for seed in study.seeds
    ]
    with lock.hold(study.path, "wait for it or stop it"):
        try:
            run_queue.run_all(
                queue, device, study.name, lambda queued: study_results.describe_value(queued.run, study.metric)
            )
        except Interrupted as stop:
            raise Interrupted(stop.signal, stop.reached, f"glasshouse scale run {study.name}") from None


def measured(study: ScaleStudy, count: str = compute_optimal.WITH_HEAD, flops: str = EXACT) -> MeasuredLosses:
    """The losses of the runs that have ended; diverged ones are left out."""
    rows: list[tuple[float, float, float, float, float]] = []
    for size in study.sizes:
        parameters = size.parameters[count]
        compute = size.flops if flops == EXACT else FLOPS_PER_PARAMETER_AND_TOKEN * parameters * size.tokens
        for seed in study.seeds:
            loss = study_results.final_value(study.run(size, seed), study.metric)
            if loss is not None and math.isfinite(loss):
                rows.append((parameters, size.tokens, compute, loss, size.budget))
    if not rows:
        raise RunError("no-runs", f"no run of {study.name} has ended; train them with: glasshouse scale run {study.name}")
    columns = np.array(rows).T
    budgets = columns[4].copy()
    if flops != EXACT:  # what the runs of a budget cost, counted in this way
        for budget in np.unique(columns[4]):
            here = columns[4] == budget
            budgets[here] = np.exp(np.log(columns[2][here]).mean())
    return MeasuredLosses(columns[0], columns[1], columns[2], columns[3], np.arange(len(rows)), budgets, count)


def _as_trained(chosen: ScalePlan, job: Job, show: Any) -> tuple[tuple[SizeRuns, ...], float]:
    """The sizes with their specs and facts, and the predicted time of all runs.

    Precision and threads are chosen once, for the largest model, so that all sizes compute alike. The time of a step is
    measured for the smallest and the largest model, and is taken to grow with its FLOPs in between.
    """
    by_cost = sorted(chosen.sizes, key=lambda size: size.shape.step_flops)
    first = cost_plan.make(_job_of(job, by_cost[-1]))
    show(0.6, "timing the smallest model")
    job = study_planning.with_first_settings(job, first)
    smallest = cost_plan.make(_job_of(job, by_cost[0]))
    ends = [by_cost[0].shape.step_flops, by_cost[-1].shape.step_flops]
    runs, seconds = [], 0.0
    for size in chosen.sizes:
        own = _job_of(job, size)
        step = float(np.interp(size.shape.step_flops, ends, [smallest.step_seconds, first.step_seconds]))
        seconds += step * size.steps * len(chosen.seeds)
        plan_facts = replace(
            first,
            parameters=size.shape.by_part,
            steps=size.steps,
            tokens=size.tokens,
            flops=int(size.flops),
            step_seconds=step,
            seconds=step * size.steps,
            notes=(),
        ).facts()
        seeds = [replace(own, spec=study_planning.with_seed(own.spec, seed)) for seed in chosen.seeds]
        together = None if job.device.type == "cuda" else False  # on a CPU replicas of one core's work gain little
        replicas, _ = replica_count.choose(seeds, together)
        runs.append(
            SizeRuns(
                size.shape.name,
                size.budget,
                spec_files.to_toml(own.spec),
                size.shape.parameters,
                size.tokens,
                size.steps,
                size.flops,
                size.epochs,
                {"plan": plan_facts, "data": own.prepared.fingerprint, "labels": list(own.prepared.labels)},
                replicas,
            )
        )
    return tuple(runs), seconds


def _job_of(job: Job, size: PlannedSize) -> Job:
    """The job of a size: its model and steps, evaluated at the end and a few times on the way."""
    every = max(size.steps // 4, 1)
    training = replace(job.spec.training, steps=size.steps, epochs=0.0)
    spec: Spec = replace(
        job.spec, model=size.shape.model, training=training, evaluation=replace(job.spec.evaluation, every=every)
    )
    return replace(job, spec=spec, steps=size.steps)


def _to_json(study: ScaleStudy) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "glasshouse": __version__,
        "created": time.time(),
        "words": list(study.words),
        "metric": study.metric,
        "seeds": list(study.seeds),
        "train_tokens": study.train_tokens,
        "seconds": study.seconds,
        "notes": list(study.notes),
        "sizes": [vars(size) for size in study.sizes],
    }


def _from_json(path: Path) -> ScaleStudy:
    try:
        table = json.loads((path / FILE).read_text(encoding="utf-8"))
        if table["format"] > FORMAT:
            raise RunError(
                "newer-format", f"{path} was written by a newer Glasshouse; upgrade with: pip install -U glasshouse"
            )
        return ScaleStudy(
            path,
            tuple(table["words"]),
            table["metric"],
            tuple(table["seeds"]),
            table["train_tokens"],
            tuple(SizeRuns(**size) for size in table["sizes"]),
            table["seconds"],
            tuple(table["notes"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError("not-a-study", f"{path} is not a scaling study: its {FILE} cannot be read ({error})") from None
