"""The text of a batch script: readable, and free of anything that a user could not have written. Submits nothing."""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from glasshouse.launching.cluster_settings import ClusterSettings

# Folders that the commands read from the environment. A script states them, so that it also works from another shell.
FOLDERS = ("GLASSHOUSE_RUNS", "GLASSHOUSE_STUDIES", "GLASSHOUSE_JOBS", "GLASSHOUSE_DATA", "GLASSHOUSE_CACHE")
TASK = "$SLURM_ARRAY_TASK_ID"
TASK_OPTION = f'--task "{TASK}"'
# A node whose processes have ended may wait so long for the others, which may be saving.
SRUN_WAIT_SECONDS = 300
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class BatchJob:
    """What a script runs: the arguments of `glasshouse`, and where its log and its exit status are written.

    With `tasks`, the script is an array of so many jobs, and `task_option` tells each which it is. `first` are the arguments
    of the first start, if those of a continued job are different: they are used while `until` does not exist.
    """

    name: str
    arguments: Sequence[str]
    log: str = ""  # the default is Slurm's
    exit_status: str = ""
    tasks: int = 0
    task_option: str = TASK_OPTION
    first: Sequence[str] = ()
    until: str = ""
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


def render(job: BatchJob, settings: ClusterSettings) -> str:
    """The script of a job."""
    several_nodes = settings.nodes > 1
    # srun kills its processes at once if it gets SIGTERM itself.
    end = 'scancel --signal=TERM "$SLURM_JOB_ID"' if several_nodes else 'kill -TERM "$!"'
    blocks = [
        ["#!/bin/bash", *(f"#SBATCH {option}" for option in _options(job, settings))],
        [*settings.setup, *(f"export {name}={_word(text)}" for name, text in job.environment.items())],
        [
            *([f"export TORCH_ELASTIC_SHUTDOWN_TIMEOUT={settings.save_seconds}"] if settings.processes > 1 else []),
            # The processes of several nodes meet on the first node, on which this script runs.
            *(['head="$(hostname)"', "port=$((20000 + SLURM_JOB_ID % 40000))"] if several_nodes else []),
        ],
        [
            f"if [ -e {_word(job.until)} ]; then",
            f"    arguments=({_words(job.arguments)})",
            "else",
            f"    arguments=({_words(job.first)})",
            "fi",
        ]
        if job.first
        else [],
        [
            f"# {settings.save_seconds} seconds before the time limit Slurm sends USR1 to this script. The command then",
            "# saves and ends, and the job goes back to the queue, to continue exactly where it stopped.",
            "at_limit=",
            f"trap 'at_limit=yes; {end}' USR1",
            # In the background: bash handles signals only while it waits.
            f"{_launcher(settings)} {_arguments(job)} &",
        ],
        [*_waiting(job), 'exit "$status"'],
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def part_option(parts: int) -> str:
    """The option that makes each task of an array one of so many workers, which count from 1."""
    return f'--part "$(({TASK.removeprefix("$")} + 1))/{parts}"'


def folders_in_use() -> dict[str, str]:
    """The folders that the environment names, as absolute paths."""
    return {name: str(Path(os.environ[name]).absolute()) for name in FOLDERS if os.environ.get(name)}


def _options(job: BatchJob, settings: ClusterSettings) -> list[str]:
    """The options of sbatch."""
    given = {
        "job-name": job.name,
        "chdir": job.folder,
        "output": job.log,
        "open-mode": "append",
        "array": f"0-{job.tasks - 1}" if job.tasks else "",
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


def _arguments(job: BatchJob) -> str:
    if job.first:
        return '"${arguments[@]}"'
    return _words(job.arguments) + (f" {job.task_option}" if job.tasks else "")


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


def _waiting(job: BatchJob) -> list[str]:
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
    return [*lines, f'echo "$status" > "{job.exit_status}{task}"'] if job.exit_status else lines
