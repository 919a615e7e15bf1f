"""Public functions that list and cancel the jobs of a cluster. They do not import torch, so they are fast."""

from os import PathLike
from pathlib import Path

from glasshouse.launching import cluster_settings, job_folder, job_status, slurm
from glasshouse.launching.job_status import JobStatus
from glasshouse.records import containment, run_folder
from glasshouse.specs.errors import LaunchError


def jobs() -> list[JobStatus]:
    """The state of every job in the jobs folder, oldest first: from Slurm, from the runs and from the logs."""
    return job_status.read_all()


def cancel(name: str | PathLike[str]) -> list[JobStatus]:
    """Cancel the jobs of a run, a study or a text, or one job by its name or number. What runs saves first."""
    wanted = str(name)
    studies = containment.folder_setting("GLASSHOUSE_STUDIES", "studies")
    folders = [path.absolute() for path in (Path(name), run_folder.root() / name, studies / name)]
    found = [
        status
        for status in jobs()
        if wanted in (status.name, status.job, str(status.id))
        # A study may hold others: those of a multiverse, or of a claim.
        or any(status.work and Path(status.work).is_relative_to(folder) for folder in folders)
    ]
    active = [status for status in found if status.active]
    if not active:
        what = f"the jobs of {wanted!r} have ended" if found else f"there are no jobs of {wanted!r} in {job_folder.root()}"
        raise LaunchError(f"{what}; list the jobs with: glasshouse jobs")
    slurm.cancel(status.id for status in active)
    return active


def jobs_folder() -> Path:
    """The folder that holds jobs: `GLASSHOUSE_JOBS`, or `jobs` under the current folder."""
    return job_folder.root()


def cluster_example() -> str:
    """An example of a cluster file, with comments."""
    return cluster_settings.EXAMPLE
