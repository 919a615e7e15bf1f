"""The state of submitted jobs: what Slurm says while it remembers them, and afterwards what their folders say."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

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
    queued = {one.task: one for one in queue if (one.id, one.name) == (record.id, record.name)}
    tasks = range(record.tasks) if record.tasks else [-1]
    states = {task: _state(job, task, queued.get(task)) for task in tasks}
    active = [one for one in queued.values() if one.active]
    running = [one for one in active if one.state == "RUNNING"]
    failed = [
        task
        for task, state in states.items()
        if state not in (COMPLETED, ENDED) and not (task in queued and queued[task].active)
    ]
    counts = [f"{count} {state}" for state, count in Counter(states.values()).items()]
    waiting = next((f"waits: {one.reason}" for one in active if one.reason not in ("", "None")), "")
    return JobStatus(
        job=job.name,
        name=record.name,
        work=record.work,
        id=record.id,
        state=states[tasks[0]] if len(tasks) == 1 else ", ".join(counts),
        progress=_progress(job, record),
        left=max((one.left for one in running), key=lambda left: (len(left), left), default=waiting),
        log=job.log(failed[0] if failed else running[0].task if running else tasks[0]),
        error=job.last_error(failed[0]) if failed and states[failed[0]] != "cancelled" else "",
        active=bool(active),
    )


def _state(job: JobFolder, task: int, queued: QueuedJob | None) -> str:
    if queued is not None:
        return queued.state.lower().replace("_", " ")
    status = job.exit_status(task)
    return ENDED if status is None else FAILED if status else COMPLETED


def _progress(job: JobFolder, record: JobRecord) -> str:
    """How far the runs of a job are, or the parts of a text."""
    if record.kind == job_folder.RUN:
        return _progress_of_run(RunFolder(Path(record.work)))
    if record.kind == job_folder.RUNS:
        runs = [RunFolder(Path(run["run"])) for groups in job.tasks() for group in groups for run in group]
        return f"{sum(map(_has_ended, runs))} of {len(runs)} runs"
    parts = job.parts()
    return f"{parts[0]:,} of {parts[1]:,} parts" if parts else ""


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
