"""From run folders to jobs that can go on: the text made ready, the plan made once, the newest checkpoint that all have."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from glasshouse import tokenizers
from glasshouse.records import checkpoint
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
class RunGroup:
    """Runs that stand at the same step, their jobs, and what was saved of each at that step.

    Those that have ended keep their place among the others and take no steps: rounding and dropout depend on the company.
    """

    runs: list[RunFolder]
    jobs: list[Job]
    saved: list[Checkpoint | None]
    ended: list[bool]

    @property
    def step(self) -> int:
        return max(saved.step if saved else 0 for saved in self.saved)


def parties(runs: Sequence[RunFolder]) -> list[list[RunFolder]]:
    """The runs in sets that can be opened together: what was begun side by side, or alone, stays so."""
    known = {run: tuple(each.path for each in companions(run)) for run in runs}
    # A process may have been killed when only some of a set had been told.
    sets = {path: paths for paths in known.values() if len(paths) > 1 for path in paths}
    found: dict[tuple[Path, ...], list[RunFolder]] = {}
    for run in runs:
        begun = "together" in run.facts() or checkpoint.steps(run.checkpoints)
        found.setdefault(known[run] if begun else sets.get(run.path.absolute(), ()), []).append(run)
    return list(found.values())


def companions(run: RunFolder) -> list[RunFolder]:
    """The runs that take their steps with this one, itself among them. One that has stopped early takes none any more."""
    facts = run.facts()
    others = facts.get("together", ["."]) if run.recorded_status() != Status.STOPPED else ["."]
    found = [RunFolder(Path(os.path.normpath(run.path.absolute() / other))) for other in others]
    # A person may have deleted some of them.
    return [each for each in found if each.spec_file.exists()]


def open_party(waiting: list[RunFolder], device: torch.device) -> RunGroup:
    """Everything that training needs, planned if it is new; companions that have ended are opened too."""
    for run in waiting:
        checkpoint.clean(run.checkpoints)
    known = {run.path.absolute(): run for run in waiting}
    runs = [known.get(each.path, each) for each in companions(waiting[0])] if len(companions(waiting[0])) > 1 else waiting
    found = dict(zip(known, _common(waiting), strict=True))
    saved = [found.get(run.path.absolute()) for run in runs]
    ended = [run.path.absolute() not in known for run in runs]
    specs = _agreed([run.spec() for run in runs])
    for run, spec in zip(runs, specs, strict=True):
        if not replicas.alike(specs[0], spec):
            raise SpecError(
                "cannot-be-replicas",
                f"{runs[0].name} and {run.name} cannot train side by side: they differ in more than seed, learning rate, "
                "weight decay and initialisation; train them one after another",
            )
    first = runs[0]
    tokenizer = tokenizers.load(first.tokenizer_file) if first.tokenizer_file.exists() else None
    job = Job.of(specs[0], device, tokenizer, begins=not any(saved))
    jobs = [_like(job, spec) for spec in specs]
    for run in runs:
        if run.facts().get("data", job.prepared.fingerprint) != job.prepared.fingerprint:
            raise RunError(
                "data-changed",
                f"the text of {run.name} has changed since the run began, so it cannot be continued exactly; "
                "put the old text back, or train a new run",
            )
        if not run.tokenizer_file.exists():
            job.prepared.tokenizer.save(run.tokenizer_file)
    if any("plan" not in run.facts() for run in runs):
        jobs = _planned(runs, jobs)
    return RunGroup(runs, jobs, saved, ended)


def divide(opened: RunGroup, together: bool | None) -> list[RunGroup]:
    """The same in sets that take their steps as one program. Runs that are new learn which set they belong to."""
    facts = opened.runs[0].facts()
    if len(opened.runs) == 1 or "together" in facts:
        size = len(opened.runs)
    else:
        size, note = replica_count.size(opened.jobs, together)
        if note:
            say(note)
    cuts = [slice(first, first + size) for first in range(0, len(opened.runs), size)]
    sets = [RunGroup(opened.runs[cut], opened.jobs[cut], opened.saved[cut], opened.ended[cut]) for cut in cuts]
    if len(opened.runs) > 1 and "together" not in facts:
        for each in sets:
            for run in each.runs:
                # From one folder to the other, so that they can be moved together.
                run.record(together=[os.path.relpath(other.path, run.path) for other in each.runs])
    return sets


def _common(runs: Sequence[RunFolder]) -> list[Checkpoint | None]:
    """The newest checkpoint that every run has whole. A damaged one is complained of and deleted, and later ones too: they
    would pass for the newest when they have been taken again."""
    while True:
        shared = set.intersection(*(set(checkpoint.steps(run.checkpoints)) for run in runs))
        step: int = max(shared, default=0)
        for run in runs:
            for later in (each for each in checkpoint.steps(run.checkpoints) if each > step):
                shutil.rmtree(checkpoint.folder_of(run.checkpoints, later))
        if not shared:
            return [None] * len(runs)
        loaded = []
        for run in runs:
            try:
                loaded.append(checkpoint.load(run.checkpoints, step))
            except RunError as error:
                say(f"{error}; the one before it is used")
                shutil.rmtree(checkpoint.folder_of(run.checkpoints, step))
                break
        else:
            return list(loaded)


def _like(job: Job, spec: Spec) -> Job:
    """The job of another run over the same text: its model is completed from the data as the first one's was."""
    return replace(job, spec=replace(spec, model=replace(job.spec.model, initialisation=spec.model.initialisation)))


def _agreed(specs: Sequence[Spec]) -> list[Spec]:
    """The specs with one choice of precision and threads, where a process was killed when only some had been told."""
    told = next((spec.training for spec in specs if spec.training.precision != "auto"), specs[0].training)
    return [
        spec
        if spec.training.precision != "auto"
        else replace(spec, training=replace(spec.training, precision=told.precision, threads=told.threads))
        for spec in specs
    ]


def _planned(runs: Sequence[RunFolder], jobs: Sequence[Job]) -> list[Job]:
    """The jobs with what a plan chose for them; the plan is that of the first, or what one of them was told already."""
    made = next((facts["plan"] for run in runs if "plan" in (facts := run.facts())), None)
    planned = made or cost_plan.make(jobs[0]).facts()
    # From here on the spec says what was chosen, so that it alone reproduces the run.
    chosen = {name: planned[name] for name in ("precision", "threads")}
    found = []
    for run, job in zip(runs, jobs, strict=True):
        spec = replace(job.spec, training=replace(job.spec.training, **chosen))
        write_text(run.spec_file, spec_files.to_toml(spec))
        run.record(plan=planned, data=job.prepared.fingerprint, labels=list(job.prepared.labels))
        if job.loaded:
            run.record(start=job.loaded.facts())
        found.append(replace(job, spec=spec))
    for note in planned["notes"]:
        say(note)
    return found
