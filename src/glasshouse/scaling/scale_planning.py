"""Plan a scaling study and write its folder: the specs of all runs, what they cost, and how many train together."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.records import atomic_files, progress_bar
from glasshouse.runs import resolve_spec
from glasshouse.scaling import scale_plan, scale_study
from glasshouse.scaling.scale_plan import PlannedSize
from glasshouse.scaling.scale_study import ScaleStudy, SizeRuns
from glasshouse.scaling.scaling_options import RECIPE, PlanOptions
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import Spec
from glasshouse.studies import study_folder, study_planning, study_values
from glasshouse.training import cost_plan, devices, replica_count
from glasshouse.training.job import Job

# Evaluations of a run, and checkpoints of a run that is evaluated at its end only.
EVALUATIONS, CHECKPOINTS = 4, 10


def plan(words: Sequence[str], budgets: Sequence[float], options: PlanOptions, device: str) -> ScaleStudy:
    """Plan a study and write its folder. Nothing is trained, but a few steps are timed."""
    seeds, name = range(options.seeds), options.name
    recipe, *overrides = words
    folder = study_folder.root() / study_folder.checked_name(f"scaling-{Path(recipe).stem}" if name is None else name)
    if folder.exists():
        raise RunError(f"{folder} exists; run it with: glasshouse scale run {folder.name}, or choose another --name")
    job = Job.prepare(resolve_spec.spec_of(recipe, *overrides), devices.pick(device), even_if_too_large=True)
    metric = f"{study_values.default_metric(job.task, study_values.held_out_splits(job.prepared.splits)).split('.')[0]}.loss"
    with progress_bar.bar("choosing shapes", outer=True) as show, progress_bar.quiet():
        chosen = scale_plan.make_plan(job, budgets, options)
        show(0.3, "timing the largest model")
        runs, seconds, choice = _as_trained(chosen, seeds, job, show)
    data_tokens, epochs = scale_plan.train_tokens(job), max(size.epochs for size in chosen)
    repeats = f"up to {epochs:.1f} epochs: the fit can weigh repeated tokens with --data {data_tokens}"
    notes = (*job.notes, *([repeats] if epochs > 1 else []), *choice)
    study = ScaleStudy(tuple(words), metric, tuple(seeds), data_tokens, runs, seconds, notes, path=folder)
    if options.rates == RECIPE:
        study = replace(study, notes=(*study.notes, scale_study.ONE_RATE))
    else:
        study = _with_sweep(study, job.spec.training.learning_rate)
    with atomic_files.folder(folder) as temporary:
        atomic_files.write_json(temporary / scale_study.FILE, scale_study.to_json(study))
    return study


def _as_trained(
    sizes: Sequence[PlannedSize], seeds: Sequence[int], job: Job, show: Any
) -> tuple[tuple[SizeRuns, ...], float, tuple[str, ...]]:
    """The sizes with their specs and facts, the predicted time of all runs, and a note on their precision and threads.

    Precision and threads are chosen once, for the largest model, so that all sizes compute alike. The time of a step is
    measured for the smallest and the largest model, and is taken to grow with its FLOPs in between. Whether seeds train
    together is decided for the largest model too: it gains the least.
    """
    by_cost = sorted(sizes, key=lambda size: size.shape.step_flops)
    first = cost_plan.make(_job_of(job, by_cost[-1]))
    show(0.6, "timing the smallest model")
    job = study_planning.with_first_settings(job, first)
    smallest = cost_plan.make(_job_of(job, by_cost[0]))
    show(0.8, "timing replicas")
    replicas = 1
    if job.device.type == "cuda":  # on a CPU replicas of one core's work gain little
        largest = _job_of(job, by_cost[-1])
        replicas, _ = replica_count.choose(
            [replace(largest, spec=study_planning.with_seed(largest.spec, seed)) for seed in seeds], None
        )
    ends = [by_cost[0].shape.step_flops, by_cost[-1].shape.step_flops]
    runs, seconds = [], 0.0
    for size in sizes:
        own = _job_of(job, size)
        step = float(np.interp(size.shape.step_flops, ends, [smallest.step_seconds, first.step_seconds]))
        seconds += step * (size.steps - size.shared_steps) * len(seeds)
        planned = replace(
            first,
            parameters=size.shape.by_part,
            steps=size.steps,
            tokens=size.tokens,
            flops=int(size.flops),
            step_seconds=step,
            seconds=step * size.steps,
            notes=(),
        )
        facts = {"plan": asdict(planned), "data": own.prepared.fingerprint, "labels": list(own.prepared.labels)}
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
                facts,
                replicas,
                size.saved_flops,
            )
        )
    return tuple(runs), seconds, (f"the same for every size: {first.choice}",) if first.choice else ()


def _with_sweep(study: ScaleStudy, rate: float) -> ScaleStudy:
    """The study with a sweep of learning rates, at the smallest and the largest size of its middle budget."""
    middle = study.budgets[(len(study.budgets) - 1) // 2]
    sizes = [size for size in study.sizes if size.budget == middle]
    swept = tuple(replace(size, saved_flops=0.0) for size in (sizes[0], sizes[-1]))
    rates = tuple(float(f"{rate * factor:.3g}") for factor in scale_study.FACTORS)
    seconds = len(rates) * sum(size.facts["plan"]["seconds"] for size in swept)
    return replace(study, swept=swept, rates=rates, seconds=study.seconds + seconds)


def _job_of(job: Job, size: PlannedSize) -> Job:
    """The job of a size: its model and steps, evaluated at the end and a few times on the way.

    A run that shares steps with another is evaluated at its end only, because the other would be evaluated at other steps.
    """
    shares = size.shared_steps or size.decay_step
    training = replace(
        job.spec.training,
        steps=size.steps,
        epochs=0.0,
        warmup=size.warmup_steps / size.steps if shares else job.spec.training.warmup,
        checkpoint_at=size.decay_step,
        checkpoint_every=max(size.steps // CHECKPOINTS, 1) if shares else job.spec.training.checkpoint_every,
    )
    evaluation = replace(job.spec.evaluation, every=max(size.steps if shares else size.steps // EVALUATIONS, 1))
    spec: Spec = replace(job.spec, model=size.shape.model, training=training, evaluation=evaluation)
    return replace(job, spec=spec, steps=size.steps)
