"""Prints what was submitted to a cluster, and the state of jobs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glasshouse.cli.tables import console, show

if TYPE_CHECKING:
    from glasshouse.launching.job_status import JobStatus
    from glasshouse.launching.submission import Submission


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
    from glasshouse.api.jobs import jobs_folder

    folder = jobs_folder()
    return (
        str(folder / job.log.relative_to(folder.absolute())) if job.log.is_relative_to(folder.absolute()) else str(job.log)
    )
