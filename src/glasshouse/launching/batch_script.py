"""The text of a batch script: readable, and free of anything that a user could not have written. Submits nothing."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.launching import job_folder
from glasshouse.launching.cluster_settings import ClusterSettings

# Folders that the commands read from the environment. A script states them, so that it also works from another shell.
FOLDERS = ("GLASSHOUSE_RUNS", "GLASSHOUSE_STUDIES", "GLASSHOUSE_JOBS", "GLASSHOUSE_DATA", "GLASSHOUSE_CACHE")
TASK = "$SLURM_ARRAY_TASK_ID"
TASK_OPTION = f'--task "{TASK}"'
# A node whose processes have ended may wait so long for the others, which may be saving.
SRUN_WAIT_SECONDS = 300
# The arguments that the script has chosen.
ARGUMENTS = '"${arguments[@]}"'
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class JobRequest:
    """A command that is to become a job: the arguments of `glasshouse`, in which `{job}` stands for the folder of the job.

    With `tasks` it becomes an array, and each task is told which it is; those of a text all do the same. `first` are the
    arguments of the first start, if those of a continued job are different: they are used while `work` does not exist.
    """

    name: str
    kind: str
    work: str
    arguments: Sequence[str]
    tasks: Sequence[Any] = ()
    first: Sequence[str] = ()


def render(job: JobRequest, settings: ClusterSettings, folder: Path | None = None) -> str:
    """The script of a job. With a folder, it writes its log and its exit status there, and tells the command of it."""
    environment = {name: str(Path(os.environ[name]).absolute()) for name in FOLDERS if os.environ.get(name)}
    if folder:
        environment[job_folder.INSIDE] = str(folder)
    task = f" {TASK_OPTION}" if job.tasks and job.kind != job_folder.PARTS else ""
    words = _words([argument.replace("{job}", str(folder or "{job}")) for argument in job.arguments])
    several_nodes = settings.nodes > 1
    # srun kills its processes at once if it gets SIGTERM itself.
    end = 'scancel --signal=TERM "$SLURM_JOB_ID"' if several_nodes else 'kill -TERM "$!"'
    first = f"    arguments=({_words(job.first)})"
    choice = [f"if [ -e {_word(job.work)} ]; then", f"    arguments=({words})", "else", first, "fi"]
    blocks = [
        ["#!/bin/bash", *(f"#SBATCH {option}" for option in _options(job, settings, folder))],
        [*settings.setup, *(f"export {name}={_word(text)}" for name, text in environment.items())],
        [
            *([f"export TORCH_ELASTIC_SHUTDOWN_TIMEOUT={settings.save_seconds}"] if settings.processes > 1 else []),
            # The processes of several nodes meet on the first node, on which this script runs.
            *(['head="$(hostname)"', "port=$((20000 + SLURM_JOB_ID % 40000))"] if several_nodes else []),
        ],
        choice if job.first else [],
        [
            f"# {settings.save_seconds} seconds before the time limit Slurm sends USR1 to this script. The command then",
            "# saves and ends, and the job goes back to the queue, to continue exactly where it stopped.",
            "at_limit=",
            f"trap 'at_limit=yes; {end}' USR1",
            # In the background: bash handles signals only while it waits.
            f"{_launcher(settings)} {ARGUMENTS if job.first else words}{task} &",
        ],
        [*_waiting(job, folder), 'exit "$status"'],
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _options(job: JobRequest, settings: ClusterSettings, folder: Path | None) -> list[str]:
    given = {
        "job-name": job.name,
        "chdir": folder and Path.cwd(),
        "output": folder and folder / ("log-%a.txt" if job.tasks else "log.txt"),
        "open-mode": "append",
        "array": f"0-{len(job.tasks) - 1}" if job.tasks else "",
        "partition": settings.partition,
        "account": settings.account,
        "time": settings.time,
        "nodes": settings.nodes,
        "ntasks-per-node": 1,
        "cpus-per-task": settings.cores,
        "gpus-per-node": settings.gpus_per_node,
        "mem": settings.memory,
        "signal": f"B:USR1@{settings.save_seconds}",
    }
    return [*(f"--{name}={_quoted(str(value))}" for name, value in given.items() if value), "--requeue", *settings.sbatch]


def _quoted(text: str) -> str:
    return f'"{text}"' if any(character in text for character in " \t#'") else text


def _word(text: str) -> str:
    """A text as a word of bash. Control characters are written as escapes, so that a terminal can show the script."""
    if not _CONTROLS.search(text):
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROLS.sub(lambda found: "".join(f"\\x{byte:02x}" for byte in found[0].encode()), plain) + "'"


def _words(texts: Sequence[str]) -> str:
    return " ".join(map(_word, texts))


def _launcher(settings: ClusterSettings) -> str:
    """What starts Glasshouse: Python alone, or torchrun on every node; in its container."""
    python = settings.python or ("python3" if settings.container else shlex.quote(sys.executable))
    python = f"{settings.container} {python}".strip()
    torchrun, processes = f"{python} -m torch.distributed.run", f"--nproc-per-node {settings.processes_on_a_node}"
    if settings.processes == 1:
        return f"{python} -m glasshouse"
    if settings.nodes == 1:
        return f"{torchrun} --standalone {processes} -m glasshouse"
    # Of its own accord, srun does not give a process more than one core.
    cores = f" --cpus-per-task={settings.cores}" if settings.cores else ""
    return f"""\
srun --wait={SRUN_WAIT_SECONDS}{cores} {torchrun} \\
    --nnodes {settings.nodes} {processes} \\
    --rdzv-backend c10d --rdzv-endpoint "$head:$port" --rdzv-id "$SLURM_JOB_ID-${{SLURM_RESTART_COUNT:-0}}" \\
    -m glasshouse"""


def _waiting(job: JobRequest, folder: Path | None) -> list[str]:
    """Wait for the command; at the time limit, queue the job again."""
    # The first task of an array has the number of the whole array, so a task is named by both numbers.
    name = f"${{SLURM_ARRAY_JOB_ID}}_{TASK}" if job.tasks else "$SLURM_JOB_ID"
    lines = [
        'wait "$!"',
        "status=$?",
        'if [ -n "$at_limit" ]; then',
        '    wait "$!"  # the signal ended the first wait',
        "    status=$?",
        '    if [ "$status" -ne 0 ]; then',
        f'        scontrol requeue "{name}" && exit "$status"',
        "    fi",
        "fi",
    ]
    task = f"-{TASK}" if job.tasks else ""
    return [*lines, f'echo "$status" > "{folder}/exit-status{task}"'] if folder else lines
