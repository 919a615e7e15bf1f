"""The state of submitted jobs: what Slurm says while it remembers them, and afterwards what their folders say."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.formatting import duration
from glasshouse.launching import job_folder, slurm
from glasshouse.launching.job_folder import JobFolder, JobRecord
from glasshouse.launching.slurm import QueuedJob
from glasshouse.records import metric_log
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs.errors import GlasshouseError, NoSlurm

COMPLETED, FAILED, ENDED = "completed", "failed", "ended"


@dataclass(frozen=True)
class JobStatus:
    """A job as a line of a list: its state, how far its runs are, the time to its limit, its log and its error."""

    job: str
    name: str
    work: str
    id: int
    state: str
    progress: str
    left: str
    log: Path
    error: str
    active: bool


def read_all() -> list[JobStatus]:
    """The state of every job in the jobs folder, oldest first."""
    jobs = job_folder.all_jobs()
    if not jobs:
        return []
    try:
        queue = slurm.jobs()
    except NoSlurm:
        queue = []  # on a machine without Slurm the folders still tell how it went
    return [status_of(job, queue) for job in jobs]


def status_of(job: JobFolder, queue: list[QueuedJob]) -> JobStatus:
    """The state of one job; `queue` is what Slurm still knows of it and of others."""
    record = job.record()
    # A Slurm that was set up anew counts from 1 again, so the name counts too.
    queued = [one for one in queue if (one.id, one.name) == (record.id, record.name)]
    known = {one.task: one for one in queued}
    tasks = range(record.tasks) if record.tasks else [-1]
    states = {task: _state(job, task, known.get(task)) for task in tasks}
    active = [one for one in queued if one.active]
    failed = [task for task, state in states.items() if state not in (COMPLETED, ENDED) and not _is_active(known.get(task))]
    shown = failed[0] if failed else next((one.task for one in active if one.state == "RUNNING"), tasks[0])
    return JobStatus(
        job=job.name,
        name=record.name,
        work=record.work,
        id=record.id,
        state=_summary(states),
        progress=_progress(job, record),
        left=_time_left(active),
        log=job.log(shown),
        error=job.last_error(failed[0]) if failed and states[failed[0]] != "cancelled" else "",
        active=bool(active),
    )


def _is_active(queued: QueuedJob | None) -> bool:
    return queued is not None and queued.active


def _state(job: JobFolder, task: int, queued: QueuedJob | None) -> str:
    if queued is not None:
        return queued.state.lower().replace("_", " ")
    status = job.exit_status(task)
    if status is None:
        return ENDED
    return FAILED if status else COMPLETED


def _summary(states: dict[int, str]) -> str:
    """The one state, or how many tasks have each."""
    if len(states) == 1:
        return next(iter(states.values()))
    return ", ".join(f"{count} {state}" for state, count in Counter(states.values()).items())


def _time_left(active: list[QueuedJob]) -> str:
    """The time to the limit of what runs, or why it waits."""
    running = [one.left for one in active if one.state == "RUNNING"]
    if running:
        return max(running, key=lambda left: (len(left), left))
    return next((f"waits: {one.reason}" for one in active if one.reason not in ("", "None")), "")


def _progress(job: JobFolder, record: JobRecord) -> str:
    """How far the runs of a job are, or the parts of a text."""
    if record.kind == job_folder.RUN:
        return _progress_of_run(RunFolder(Path(record.work)))
    if record.kind == job_folder.RUNS:
        runs = [RunFolder(Path(run["run"])) for run in _runs_of(job.tasks())]
        ended = sum(_has_ended(run) for run in runs)
        return f"{ended} of {len(runs)} runs"
    if parts := job.parts():
        return f"{parts[0]:,} of {parts[1]:,} parts"
    return ""


def _runs_of(tasks: list[Any]) -> list[dict[str, Any]]:
    return [run for groups in tasks for group in groups for run in group]


def _has_ended(run: RunFolder) -> bool:
    try:
        return run.recorded_status() in (Status.DONE, Status.FAILED)
    except GlasshouseError:
        return False


def _progress_of_run(run: RunFolder) -> str:
    """The steps of a run, and how long the others will take."""
    try:
        facts = run.facts()
    except GlasshouseError:
        return "deleted"
    last, steps = metric_log.last_row(run.metrics_file), int(facts.get("plan", {}).get("steps", 0))
    if not last or not steps:
        return "not started"
    text = f"step {last['step']:,} of {steps:,}"
    if facts.get("status") == Status.DONE:
        return f"{text}, done"
    seconds = float(last.get("seconds") or 0.0) / last["step"] * (steps - last["step"])
    return f"{text}, {duration(seconds)} left"
