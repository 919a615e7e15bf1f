"""What the buttons of a live page do: ask a run to stop, and start commands that resume it or make its report.

A command runs in a process of its own, which goes on if the server ends. Its output is in `command.log` of the run folder.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from glasshouse.records import lock, plain_files, stop_request
from glasshouse.records.run_entries import RunEntry
from glasshouse.records.status import Status
from glasshouse.specs.errors import RunError

LOG = "command.log"
# The lines and bytes of the output that a page shows.
LINES, TAIL_BYTES = 12, 4000
_RESUMABLE = (Status.INTERRUPTED, Status.NEW)


def possible(run: RunEntry) -> tuple[str, ...]:
    """The actions that a run allows now."""
    if run.error:
        return ()
    actions = []
    if run.status == Status.TRAINING and not stop_request.is_made(run.path):
        actions.append("stop")
    if run.status in _RESUMABLE:
        actions.append("resume")
    if (run.path / "checkpoints").is_dir():
        actions.append("report")
    return tuple(actions)


def act(action: str, run: RunEntry, study: Path | None = None) -> str:
    """Do what a button says; returns a sentence about it. A run of a study is resumed with its study."""
    if action not in possible(run):
        raise RunError("not-possible", f"{action} is not possible: {run.name} is {run.status}; reload the page")
    if action == "stop":
        stop_request.make(run.path)
        return f"{run.name} was asked to stop. It saves a checkpoint after its next step."
    if action == "resume" and study:
        if lock.is_held(study):
            raise RunError("not-possible", f"the study {study.name} is being trained and will train {run.name} in its turn")
        _start(["resume", str(study.absolute())], run.path)
        return f"The study {study.name} goes on: glasshouse resume was started."
    _start([action, str(run.path.absolute())], run.path)
    doing = "goes on from its newest checkpoint" if action == "resume" else "gets its report"
    return f"{run.name} {doing}: glasshouse {action} was started."


def _start(arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with plain_files.open_to_write(folder / LOG, empty=True) as log:
        log.write(f"$ glasshouse {arguments[0]} {Path(arguments[1]).name}\n".encode())
        log.flush()
        environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
        process = subprocess.Popen(
            [sys.executable, "-m", "glasshouse", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    # A process that nobody waits for stays in the list of processes until the server ends.
    threading.Thread(target=process.wait, daemon=True).start()
    return process


def output(folder: Path) -> str:
    """The last lines that the last command wrote."""
    try:
        with plain_files.open_to_read(folder / LOG) as log:
            log.seek(max(log.seek(0, os.SEEK_END) - TAIL_BYTES, 0))
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-LINES:])
