"""Submit a command as a job: its folder, its script, sbatch, its record. A job that is refused leaves nothing behind."""

import shutil
from dataclasses import dataclass, field

from glasshouse.launching import batch_script, job_folder, slurm
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import ClusterSettings
from glasshouse.launching.job_folder import JobFolder
from glasshouse.specs.errors import LaunchError


@dataclass
class Submission:
    """What was submitted: the jobs, or after a dry run their scripts. Both are empty if nothing was left to do."""

    jobs: list[JobFolder] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)

    def add(self, request: JobRequest, settings: ClusterSettings, dry_run: bool, after: int = 0) -> int:
        """Submit a job and return its number; in a dry run, make its script. What is in the queue already is refused."""
        if dry_run:
            folder = job_folder.next_path(request.name, len(self.scripts))
            self.scripts.append(batch_script.render(request, settings, folder))
            return 0
        if not after:
            refuse_second(request)
        job = submit(request, settings, after)
        self.jobs.append(job)
        return job.record().id


def submit(request: JobRequest, settings: ClusterSettings, after: int = 0) -> JobFolder:
    """Submit a job and record it. With `after` it waits until that job has succeeded."""
    job = job_folder.create(request.name, request.tasks)
    try:
        job.script.write_text(batch_script.render(request, settings, job.path), encoding="utf-8")
        number = slurm.submit(job.script, after)
    except BaseException:
        shutil.rmtree(job.path, ignore_errors=True)
        raise
    tasks = len(request.tasks)
    job_folder.record(job, number, request.name, request.kind, request.work, request.arguments, tasks, after)
    return job


def refuse_second(request: JobRequest) -> None:
    """Refuse to submit work that is in the queue already, except by the job that does it."""
    active = {(queued.id, queued.name) for queued in slurm.jobs() if queued.active}
    for job in job_folder.all_jobs():
        record = job.record()
        same = record.work == request.work if request.work else record.command == tuple(request.arguments)
        if same and (record.id, record.name) in active and str(job.path) != job_folder.inside():
            name = request.name
            raise LaunchError(f"{name} is in the queue as job {record.id}; see `glasshouse jobs` or use `glasshouse cancel`")


def check(settings: ClusterSettings, dry_run: bool) -> None:
    """Refuse settings that the cluster cannot run. A dry run and a job can do without Slurm."""
    if slurm.is_installed() or not (dry_run or job_folder.inside()):
        slurm.check(settings)
