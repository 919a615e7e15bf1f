"""The job folder: what was submitted to a cluster, as a folder of plain files in `jobs/`. Knows nothing of Slurm.

A job folder holds `script.sh`, `job.json`, the logs, the exit status of what has ended, for an array `tasks.json`, and for a
job that prepares a text `parts.json`.
"""

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict

from glasshouse.records import atomic_files, containment, kept_json, plain_files, run_folder
from glasshouse.records.kept_schema import Count, Text
from glasshouse.specs.errors import LaunchError

FILE, SCRIPT, TASKS, PARTS_FILE = "job.json", "script.sh", "tasks.json", "parts.json"
# The environment variable that names a job folder to the commands that its script runs.
INSIDE = "GLASSHOUSE_JOB"
# The kinds of jobs: one run; the runs of a study; the parts of a text; the command that began the work.
RUN, RUNS, PARTS, COMMAND = "run", "runs", "parts", "command"
# So much of the end of a log is read for its last error.
LOG_TAIL_BYTES = 20_000
# Lines that name an error, the most telling kind first: of Glasshouse, of Python, of Slurm; or any line. A run that was told
# to save says so in such a line too, and torchrun adds an error of its own to that of its processes.
_ERRORS = (
    re.compile(r"glasshouse: (?!.*\[interrupted\]$)"),
    re.compile(r"(?!.*ChildFailedError)[\w.]*(Error|Exception)\b"),
    re.compile(r"(slurmstepd\S*|srun|sbatch): error"),
    re.compile("."),
)


def root() -> Path:
    """The folder that holds jobs: `GLASSHOUSE_JOBS`, or `jobs` under the current folder."""
    return containment.folder_setting("GLASSHOUSE_JOBS", "jobs")


@dataclass(frozen=True)
class JobRecord:
    """What was submitted: the number that Slurm gave it, what it works on, and after which job it starts."""

    id: int
    name: str
    kind: str
    work: str  # the folder of the run, the study or the prepared text; empty if it is not known yet
    command: tuple[str, ...]
    tasks: int
    after: int
    submitted: float


class JobParts(TypedDict):
    """The content of the file of a job's parts: which files count."""

    folder: Text
    pattern: Text
    count: Count


@dataclass(frozen=True)
class JobFolder:
    """One job on disk."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def script(self) -> Path:
        return self.path / SCRIPT

    def log(self, task: int = -1) -> Path:
        """The log of a job, or of one task of an array."""
        return self.path / ("log.txt" if task < 0 else f"log-{task}.txt")

    def record(self) -> JobRecord:
        try:
            record: JobRecord = kept_json.read(self.path / FILE, JobRecord)
            return record
        except (OSError, ValueError) as error:
            raise LaunchError(f"{self.path / FILE} cannot be read ({error}); delete the folder") from None

    def tasks(self) -> list[Any]:
        """What each task of an array does; empty outside arrays."""
        file = self.path / TASKS
        return kept_json.required(file, list[Any], "submit the study again", LaunchError) if file.exists() else []

    def parts(self) -> tuple[int, int] | None:
        """How many parts are done, and how many there are; None if they are not known yet."""
        try:
            table = kept_json.read(self.path / PARTS_FILE, JobParts)
            folder, pattern, count = Path(table["folder"]), table["pattern"], table["count"]
        except (OSError, ValueError):
            return None
        # The folder of the parts is removed when they have been joined.
        return (sum(1 for _ in folder.glob(pattern)), count) if folder.is_dir() else (count, count)

    def exit_status(self, task: int = -1) -> int | None:
        """With what a job or a task ended; None if it did not end by itself."""
        try:
            return int(plain_files.read_bytes(self.path / ("exit-status" if task < 0 else f"exit-status-{task}"), 100))
        except (OSError, ValueError):
            return None

    def last_error(self, task: int = -1) -> str:
        """The last line of the log that names an error of the most telling kind, or else its last line."""
        try:
            with plain_files.open_to_read(self.log(task)) as file:
                file.seek(max(file.seek(0, os.SEEK_END) - LOG_TAIL_BYTES, 0))
                lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
        except OSError:
            return ""
        candidates = [[line for line in lines if error.match(line)] for error in _ERRORS]
        return next((found[-1] for found in candidates if found), "")


def next_path(name: str, skip: int = 0) -> Path:
    """The first unused path NAME-1, NAME-2, ... in the jobs folder, or one of those after it."""
    where, number = (root() / run_folder.checked_name(name, "job")).absolute(), 1
    while where.with_name(f"{where.name}-{number}").exists():
        number += 1
    return where.with_name(f"{where.name}-{number + skip}")


def create(name: str, tasks: Sequence[Any] = ()) -> JobFolder:
    """A new folder in the jobs folder, with what each task of an array does. It is no job before it is recorded."""
    try:
        while True:
            path = next_path(name)
            with suppress(FileExistsError):  # another process took the name
                path.mkdir(parents=True)
                break
        if tasks:
            atomic_files.write_json(path / TASKS, list(tasks))
    except OSError as error:
        raise LaunchError(f"cannot create a job in {root()}: {error}; set GLASSHOUSE_JOBS to another folder") from None
    return JobFolder(path)


def record(job: JobFolder, id: int, name: str, kind: str, work: str, command: Sequence[str], tasks: int, after: int) -> None:
    written = JobRecord(id, name, kind, work, tuple(command), tasks, after, time.time())
    atomic_files.write_json(job.path / FILE, asdict(written))


def record_parts(folder: Path, pattern: str, count: int) -> None:
    """Within a job, record that its work is so many parts, each a file in this folder; the first task does it for all."""
    if inside() and not (file := Path(inside()) / PARTS_FILE).exists():
        atomic_files.write_json(file, {"folder": str(folder), "pattern": pattern, "count": count})


def find(name: str | os.PathLike[str]) -> JobFolder:
    """The job with this name in the jobs folder, or at this path."""
    for path in (root() / name, Path(name)):
        if (path / FILE).is_file() or (path / TASKS).is_file():
            return JobFolder(path.absolute())
    raise LaunchError(f"there is no job {str(name)!r} in {root()}; list the jobs with: glasshouse jobs")


def all_jobs() -> list[JobFolder]:
    """All jobs in the jobs folder, oldest first."""
    jobs = [JobFolder(file.parent.absolute()) for file in root().glob(f"*/{FILE}") if file.is_file()]
    return sorted(jobs, key=lambda job: ((job.path / FILE).stat().st_mtime, job.name))


def inside() -> str:
    """The folder of the job that this process runs in; empty outside jobs."""
    return os.environ.get(INSIDE, "")
