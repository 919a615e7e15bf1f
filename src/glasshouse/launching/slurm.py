"""Slurm's own commands: sbatch, squeue, scancel, sinfo, called as programs and read as text. Knows nothing of runs."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from glasshouse.launching.cluster_settings import ClusterSettings, seconds_of
from glasshouse.specs import catalogue
from glasshouse.specs.errors import LaunchError, NoSlurm

# A controller that does not answer within this time is not waited for any longer.
TIMEOUT = 60.0
# States in which a job will still do something.
ACTIVE = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED", "REQUEUE_HOLD", "SUSPENDED", "RESIZING", "STOPPED")
# What Slurm's programs say if no controller is configured, or none answers.
NO_CLUSTER = ("configuration source", "failed to fetch config", "Unable to contact slurm controller", "Connection refused")


@dataclass(frozen=True)
class Partition:
    """A partition: its limits, and the largest of its nodes. A time of 0 is no limit."""

    name: str
    default: bool
    seconds: int
    nodes: int
    cores: int
    gpus: int


@dataclass(frozen=True)
class QueuedJob:
    """A job, or a task of an array, as squeue shows it. `task` is -1 outside arrays; `left` is the time to the limit."""

    id: int
    task: int
    state: str
    left: str
    reason: str
    name: str

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


def is_installed() -> bool:
    return shutil.which("sbatch") is not None


def submit(script: Path, after: int = 0) -> int:
    """Submit a script and return the number of its job. With `after` it waits until that job has succeeded."""
    waiting = [f"--dependency=afterok:{after}", "--kill-on-invalid-dep=yes"] if after else []
    printed = _call("sbatch", "--parsable", *waiting, str(script))
    # --parsable prints the number of the job, and after a semicolon the name of the cluster.
    number = printed.strip().splitlines()[-1].partition(";")[0] if printed.strip() else ""
    if not number.isdigit():
        raise LaunchError(f"sbatch printed {printed.strip()!r}, which is no number of a job; try sbatch {script}")
    return int(number)


def jobs() -> list[QueuedJob]:
    """The user's jobs, each task of an array by itself. Slurm forgets a job some minutes after its end."""
    printed = _call("squeue", "--me", "--array", "--noheader", "--states=all", "--format=%F|%K|%T|%L|%r|%j")
    rows = [line.split("|", 5) for line in printed.splitlines() if line.count("|") >= 5]
    return [
        QueuedJob(int(number), int(task) if task.isdigit() else -1, state, left, reason, name)
        for number, task, state, left, reason, name in rows
        if number.isdigit()
    ]


def cancel(numbers: Iterable[int]) -> None:
    """Cancel jobs. What runs is told to end, so that it can save."""
    _call("scancel", *map(str, numbers))


def partitions() -> list[Partition]:
    """The partitions of the cluster. sinfo prints a line for each kind of node of each partition."""
    found: dict[str, Partition] = {}
    rows = [line.split("|") for line in _call("sinfo", "--noheader", "--format=%P|%l|%D|%c|%G").splitlines()]
    for name, limit, nodes, node_cores, resources in (map(str.strip, row) for row in rows if len(row) == 5):
        # sinfo writes 16+ for nodes with 16 cores and more, and a star behind the default partition.
        count, processors = (int(re.sub(r"\D", "", cell) or 0) for cell in (nodes, node_cores))
        gpus = sum(int(number) for number in re.findall(r"gpu(?::[^:,(]+)?:(\d+)", resources))
        plain, seconds = name.rstrip("*"), seconds_of(limit) if limit[:1].isdigit() else 0
        before = found.get(plain, Partition(plain, name.endswith("*"), seconds, 0, 0, 0))
        cores, gpus = max(before.cores, processors), max(before.gpus, gpus)
        found[plain] = replace(before, nodes=before.nodes + count, cores=cores, gpus=gpus)
    return list(found.values())


def check(settings: ClusterSettings) -> None:
    """Refuse what the cluster cannot run, before anything is queued."""
    known = partitions()
    wanted = [one for one in known if (one.name == settings.partition if settings.partition else one.default)]
    if not wanted and not settings.partition:
        return  # without a default, sbatch itself says what it needs
    if not wanted:
        names = [one.name for one in known]
        meant = catalogue.did_you_mean(settings.partition, names)
        raise LaunchError(f"there is no partition {settings.partition!r}{meant}; this cluster has {', '.join(names)}")
    partition = wanted[0]
    if settings.time and partition.seconds and seconds_of(settings.time) > partition.seconds:
        minutes = partition.seconds // 60
        raise LaunchError(
            f"is above the {minutes} minutes of partition {partition.name}; choose less", "time", settings.time
        )
    cores = max(settings.cpus_per_task, settings.processes_on_a_node)
    for what, asked, most, remedy in (
        ("nodes", settings.nodes, partition.nodes, "choose fewer --nodes, or another --partition"),
        ("GPUs on a node", settings.gpus_per_node, partition.gpus, "choose fewer --gpus-per-node, or another --partition"),
        ("cores on a node", cores, partition.cores, "choose fewer processes or CPUs per node, or another --partition"),
    ):
        if asked > most:
            raise LaunchError(f"{asked} {what} are more than the {most} of partition {partition.name}; {remedy}")


def _call(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except FileNotFoundError:
        raise NoSlurm(f"this machine has no {program}; use a login node of the cluster, or leave out --on slurm") from None
    except subprocess.TimeoutExpired:
        raise LaunchError(f"{program} has not answered for {TIMEOUT:.0f} s; ask `sinfo` whether Slurm is up") from None
    if done.returncode and any(sign in done.stderr for sign in NO_CLUSTER):
        raise LaunchError(f"{program} finds no cluster that answers; ask `sinfo`, use a login node, or leave out --on slurm")
    if done.returncode:
        said = " ".join(line.removeprefix(f"{program}: ").removeprefix("error: ") for line in done.stderr.splitlines())
        raise LaunchError(f"{program} refused: {said.strip() or f'exit status {done.returncode}'}")
    return done.stdout
