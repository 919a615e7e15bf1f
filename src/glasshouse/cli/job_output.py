"""Runs a command on a cluster if its options say so, and prints what was submitted and how jobs are."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import glasshouse
from glasshouse.cli.tables import console, show

if TYPE_CHECKING:
    from glasshouse import JobStatus, Submission


@contextmanager
def on_cluster(on: str | None, dry_run: bool = False, **options: int | str | None) -> Iterator[None]:
    """With --on slurm, have the studies of the block trained by jobs. The jobs repeat the command that was typed."""
    if on is None:
        refuse_cluster_options(dry_run=dry_run or None, **options)
        yield
        return
    command = [word for word in sys.argv[1:] if word != "--dry-run"]
    with glasshouse.on_slurm(command, dry_run=dry_run, **options) as submitted:
        yield
    if submitted.jobs or submitted.scripts:
        print_submission(submitted)


def refuse_cluster_options(**options: object) -> None:
    """Refuse options that work only with --on slurm."""
    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise glasshouse.GlasshouseError(f"{option} works only with --on slurm; add it, or leave {option} out")


def print_submission(submitted: "Submission") -> None:
    """Print the jobs and what to do next, or the scripts of a dry run."""
    for script in submitted.scripts:
        console.print(script, markup=False, soft_wrap=True)
    for job in submitted.jobs:
        record = job.record()
        tasks = f", {record.tasks} tasks" if record.tasks else ""
        after = f", after job {record.after}" if record.after else ""
        console.print(f"job {record.id}{tasks}{after}: {job.script}", markup=False, soft_wrap=True)
    if not submitted.jobs and not submitted.scripts:
        console.print("nothing is left to submit: the work is done", markup=False)
    if submitted.jobs:
        name = submitted.jobs[0].record().name
        console.print(
            f"follow it with `glasshouse jobs`; stop it with `glasshouse cancel {name}`", markup=False, soft_wrap=True
        )


def print_jobs(jobs: "Sequence[JobStatus]") -> None:
    """Print a table of jobs, and the error and the log of each that failed."""
    show(("job", "number", "state", "progress", "time left"), [_row(job) for job in jobs])
    for job in jobs:
        if job.error:
            console.print(f"{job.job}: {job.error}", markup=False, soft_wrap=True)
        if job.active or job.error:
            console.print(f"{job.job}: the log is {_relative(job)}", markup=False, soft_wrap=True)


def _row(job: "JobStatus") -> tuple[str, ...]:
    return job.job, str(job.id), job.state, job.progress, job.left


def _relative(job: "JobStatus") -> str:
    """The log, as short as it can be written."""
    folder = glasshouse.jobs_folder()
    return (
        str(folder / job.log.relative_to(folder.absolute())) if job.log.is_relative_to(folder.absolute()) else str(job.log)
    )
