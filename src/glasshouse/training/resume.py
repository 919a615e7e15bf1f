"""Start or resume runs: from run folders to prepared jobs, with their plan and their newest common checkpoint."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from glasshouse import tokenizers
from glasshouse.records import checkpoint, run_folder
from glasshouse.records.atomic_files import write_text
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.progress_bar import say
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.specs.spec import Spec
from glasshouse.training import cost_plan, replica_count, replicas
from glasshouse.training.job import Job


@dataclass(frozen=True)
class OpenedRun:
    """A run, its job, and its checkpoint at the step of its group.

    Runs that have ended stay in their group and take no steps. Rounding and dropout of the others depend on the size of the
    group and on their indices in it.
    """

    run: RunFolder
    job: Job
    saved: Checkpoint | None
    ended: bool = False


def step_of(group: Sequence[OpenedRun]) -> int:
    """The step that the runs of a group have reached."""
    return max(opened.saved.step if opened.saved else 0 for opened in group)


def started_together(runs: Sequence[RunFolder]) -> list[list[RunFolder]]:
    """Group the runs that are trained together. Runs that started together stay so; a run that started alone stays alone."""
    companion_paths = {run: tuple(companion.path for companion in companions(run)) for run in runs}
    # A killed process may have recorded a group in some of its runs only.
    groups = {path: paths for paths in companion_paths.values() if len(paths) > 1 for path in paths}
    by_group: dict[tuple[Path, ...], list[RunFolder]] = {}
    for run in runs:
        started = "together" in run.facts() or checkpoint.steps(run.checkpoints)
        group = companion_paths[run] if started else groups.get(run.path.absolute(), ())
        by_group.setdefault(group, []).append(run)
    return list(by_group.values())


def companions(run: RunFolder) -> list[RunFolder]:
    """The runs that take their steps together with this run, including itself. A run that stopped early has no others.

    Outside a study they are siblings, which name each other: what one altered folder says trains no other run.
    """
    facts = run.facts()
    paths = facts.get("together", ["."]) if run.recorded_status() != Status.STOPPED else ["."]
    if not isinstance(paths, list):
        raise RunError(f"{run.path / 'run.json'}: together must be an array; correct or delete that entry")
    study = run_folder.study_around(run.path)
    recorded = [RunFolder(_companion_path(run, path, study or run.path.absolute().parent)) for path in paths]
    # The user may have deleted some of the runs.
    existing = [companion for companion in recorded if companion.spec_file.exists()]
    if study:
        return existing
    siblings = [sibling.path.absolute() for sibling in run.siblings()]
    return [companion for companion in existing if companion.path in siblings]


def _companion_path(run: RunFolder, path: object, within: Path) -> Path:
    """A recorded path of another run, which is inside the folder `within`."""
    own = run.path.absolute()
    found = Path(os.path.normpath(own / path)) if isinstance(path, str) else own.parent
    if not found.is_relative_to(within) or found == within:
        raise RunError(f"{run.path / 'run.json'} names a run {path!r} that is not inside {within}; use an unaltered folder")
    return found


def open_group(unfinished: list[RunFolder], device: torch.device) -> list[OpenedRun]:
    """Prepare the jobs of unfinished runs and plan new ones. Their companions that have ended are opened too."""
    for run in unfinished:
        checkpoint.delete_unfinished(run.checkpoints)
    by_path = {run.path.absolute(): run for run in unfinished}
    recorded = companions(unfinished[0])
    runs = [by_path.get(run.path, run) for run in recorded] if len(recorded) > 1 else unfinished
    checkpoints = dict(zip(by_path, _newest_common_checkpoints(unfinished), strict=True))
    saved = [checkpoints.get(run.path.absolute()) for run in runs]
    ended = [run.path.absolute() not in by_path for run in runs]
    specs = _with_same_choices([run.spec() for run in runs])
    for run, spec in zip(runs, specs, strict=True):
        if not replicas.can_be_replicas(specs[0], spec):
            what = f"{runs[0].name} and {run.name} differ in more than seed, learning rate, weight decay and initialisation"
            raise SpecError(f"{what}; train them one after another")
    first = runs[0]
    tokenizer = tokenizers.load(first.tokenizer_file) if first.tokenizer_file.exists() else None
    job = Job.prepare(specs[0], device, tokenizer, new_run=not any(saved))
    jobs = [job.with_spec(spec) for spec in specs]
    for run in runs:
        if run.facts().get("data", job.prepared.fingerprint) != job.prepared.fingerprint:
            changed = f"the data of {run.name} have changed since it started, so it cannot be resumed exactly"
            raise RunError(changed, remedies=["restore the old data", "train a new run"])
        if not run.tokenizer_file.exists():
            job.prepared.tokenizer.save(run.tokenizer_file)
    if any("plan" not in run.facts() for run in runs):
        jobs = _with_plan(runs, jobs)
    return [OpenedRun(*row) for row in zip(runs, jobs, saved, ended, strict=True)]


def open_followed(run: RunFolder, device: torch.device, step: int) -> list[OpenedRun]:
    """The group of a run that another process has opened, at the step of one of its checkpoints. Writes nothing."""
    saved = checkpoint.load(run.checkpoints, step) if step else None
    job = Job.prepare(run.spec(), device, tokenizers.load(run.tokenizer_file), new_run=saved is None)
    return [OpenedRun(run, job, saved)]


def split_group(group: list[OpenedRun], together: bool | None) -> list[list[OpenedRun]]:
    """Split a group into groups that each train as one program, and record them in runs that are new."""
    facts, size = group[0].run.facts(), len(group)
    if size > 1 and "together" not in facts:
        size, reason = replica_count.choose([opened.job for opened in group], together)
        if reason:
            say(reason)
    groups = [group[first : first + size] for first in range(0, len(group), size)]
    # One of several replicas may be alone here, or the only one that is not recorded yet: a kill came in between.
    if len(group) > 1 or "family" in facts:
        for smaller in groups:
            for run in (opened.run for opened in smaller if not opened.ended and "together" not in opened.run.facts()):
                # Relative paths, so that the folders can be moved together.
                run.record(together=[os.path.relpath(other.run.path, run.path) for other in smaller])
    return groups


def _newest_common_checkpoints(runs: Sequence[RunFolder]) -> Sequence[Checkpoint | None]:
    """The checkpoint of each run at the newest step that is intact in all. Damaged ones are reported; these and later ones,
    whose steps are taken again, are deleted."""
    newest, loaded = 0, list[Checkpoint]()
    for step in sorted(set.intersection(*(set(checkpoint.steps(run.checkpoints)) for run in runs)), reverse=True):
        try:
            newest, loaded = step, [checkpoint.load(run.checkpoints, step) for run in runs]
            break
        except RunError as error:
            say(f"{error}; an earlier checkpoint is used instead")
    for run in runs:
        for later in (step for step in checkpoint.steps(run.checkpoints) if step > newest):
            checkpoint.delete_step(run.checkpoints, later)
    return loaded or [None] * len(runs)


def _with_same_choices(specs: Sequence[Spec]) -> list[Spec]:
    """The specs with the same choices. A killed process may have written its choices to some of the runs only."""
    # What adapts to the data has adapted in the spec of some run.
    if adapted := next((spec for spec in specs if not spec.data.adapt), None):
        own = [replicas.with_free_fields(adapted, spec, spec.data.adapt) for spec in specs]
        specs = [new if spec.data.adapt else spec for spec, new in zip(specs, own, strict=True)]
    chosen = next((spec.training for spec in specs if spec.training.precision != "auto"), specs[0].training)

    def with_choice(spec: Spec) -> Spec:
        training = replace(spec.training, precision=chosen.precision, threads=chosen.threads)
        return replace(spec, training=training) if spec.training.precision == "auto" else spec

    return [with_choice(spec) for spec in specs]


def _with_plan(runs: Sequence[RunFolder], jobs: Sequence[Job]) -> list[Job]:
    """The jobs with the choices of a plan: the plan that one run has recorded already, or a new plan of the first job."""
    recorded = (facts["plan"] for run in runs if "plan" in (facts := run.facts()))
    complete = (plan for plan in recorded if {"precision", "threads", "notes"} <= plan.keys())
    plan = next(complete, None) or asdict(cost_plan.make(jobs[0]))
    # The spec records the choices, so that it alone reproduces the run.
    choices = {name: plan[name] for name in ("precision", "threads")}
    planned = []
    for run, job in zip(runs, jobs, strict=True):
        spec = replace(job.spec, training=replace(job.spec.training, **choices))
        write_text(run.spec_file, spec_files.to_toml(spec))
        run.record(plan=plan, data=job.prepared.fingerprint, labels=list(job.prepared.labels))
        if job.transfer:
            run.record(start=asdict(job.transfer))
        planned.append(replace(job, spec=spec))
    for note in filter(None, [*plan["notes"], plan.get("choice")]):
        say(note)
    return planned
