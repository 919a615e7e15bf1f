"""What the buttons of a live page do: ask a run to stop, and start commands that resume it or make its report.

A command runs in a process of its own, which goes on if the server ends. Its output is in `command.log` of the run folder.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from glasshouse.records import lock, plain_files
from glasshouse.records.run_entries import RunEntry
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs.errors import RunError

LOG = "command.log"
# The lines and bytes of the output that a page shows.
LINES, TAIL_BYTES = 12, 4000
_RESUMABLE = (Status.INTERRUPTED, Status.NEW)
# (command, folder of a run or study) -> the process that was started last.
_started: dict[tuple[str, Path], subprocess.Popen[bytes]] = {}
# Two requests come in two threads: the second one looks after the first one has started its command.
_one_at_a_time = threading.Lock()


def is_started(command: str, folder: Path) -> bool:
    """Whether a command that was started here, for this run or for the study around it, has not ended yet."""
    around = (folder.absolute(), *folder.absolute().parents)
    return any(
        name == command and target in around and process.returncode is None for (name, target), process in _started.items()
    )


def possible(run: RunEntry) -> tuple[str, ...]:
    """The actions that a run allows now."""
    if run.error:
        return ()
    actions = []
    if run.status == Status.TRAINING and not RunFolder(run.path).stop_request.exists():
        actions.append("stop")
    if run.status in _RESUMABLE and not is_started("resume", run.path):
        actions.append("resume")
    if (run.path / "checkpoints").is_dir() and not is_started("report", run.path):
        actions.append("report")
    return tuple(actions)


def act(action: str, run: RunEntry, study: Path | None = None) -> str:
    """Do what a button says; returns a sentence about it. A run of a study is resumed with its study."""
    with _one_at_a_time:
        if action != "stop" and is_started(action, run.path):
            raise RunError(f"glasshouse {action} was started for {run.name} already; wait until it has ended")
        if action not in possible(run):
            raise RunError(f"{action} is not possible: {run.name} is {run.status}; reload the page")
        if action == "stop":
            RunFolder(run.path).ask_to_stop()
            return f"{run.name} was asked to stop. It saves a checkpoint after its next step."
        if action == "resume" and study:
            if lock.is_held(study):
                raise RunError(f"the study {study.name} is being trained and will train {run.name} in its turn")
            _start("resume", study, run.path)
            return f"The study {study.name} goes on: glasshouse resume was started."
        _start(action, run.path, run.path)
        doing = "goes on from its newest checkpoint" if action == "resume" else "gets its report"
        return f"{run.name} {doing}: glasshouse {action} was started."


def _start(command: str, target: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start a command on a run or a study; its output goes to the log of the run in `folder`."""
    with plain_files.open_to_write(folder / LOG, empty=True) as log:
        log.write(f"$ glasshouse {command} {target.name}\n".encode())
        log.flush()
        environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
        process = subprocess.Popen(
            [sys.executable, "-m", "glasshouse", command, str(target.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    _started[command, target.absolute()] = process
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
