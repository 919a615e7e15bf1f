"""Start `torchrun` for runs with `training.processes`, show their progress, and say how they ended. Trains nothing itself.

The processes write their output to `processes.log` in the run folder. A signal is passed on to the processes that train, so
that they save and end.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from glasshouse.records import checkpoint, lock, metric_log, plain_files, progress_bar
from glasshouse.records.atomic_files import write_text
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import spec_files
from glasshouse.specs.errors import Interrupted, RunError
from glasshouse.training import devices, job, parent_death, process_group
from glasshouse.training.signals import catch_signals

LOG = "processes.log"
POLL_SECONDS = 0.2
# The environment variable that tells `torchrun` how long its processes may save before it kills them.
SHUTDOWN_TIMEOUT = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
# A line of the log that says what went wrong.
ERROR_PREFIX = "glasshouse: "


def is_needed(runs: Sequence[RunFolder]) -> bool:
    return process_group.size() == 1 and not process_group.is_rank() and runs[0].spec().training.processes > 1


def command(runs: Sequence[RunFolder], processes: int, device: str) -> list[str]:
    """The command that trains runs in several processes on this machine."""
    paths = [str(run.path.absolute()) for run in runs]
    # If this process is killed, `torchrun` ends its processes, and they save.
    torchrun = ["glasshouse.training.parent_death", str(os.getpid()), "torch.distributed.run"]
    launcher = [sys.executable, "-m", *torchrun, "--standalone", "--nproc-per-node", str(processes)]
    return [*launcher, "-m", "glasshouse.training.loop", device, *paths]


def set_processes(run: RunFolder, processes: int) -> None:
    """Record another number of processes in the spec of a run, unless it is finished. Checkpoints do not depend on it."""
    spec = run.spec()
    if spec.training.processes != processes and run.recorded_status() != Status.DONE:
        changed = spec_files.override(spec, [f"training.processes={processes}"])
        write_text(run.spec_file, spec_files.to_toml(changed))


def train(runs: Sequence[RunFolder], device: str) -> bool:
    """Train runs in several processes. Returns False if they were finished already."""
    ended = (Status.DONE,) if len(runs) == 1 else (Status.DONE, Status.FAILED)
    if all(run.recorded_status() in ended for run in runs):
        progress_bar.say(f"{runs[0].name} is finished")
        return False
    job.check(spec := runs[0].spec())
    processes = spec.training.processes
    process_group.check_count(processes, devices.pick(device))
    log = runs[0].path / LOG
    cores = max((os.cpu_count() or 1) // processes, 1)
    environment = {"OMP_NUM_THREADS": str(cores), SHUTDOWN_TIMEOUT: str(parent_death.PATIENCE_SECONDS), **os.environ}
    begin = log.stat().st_size if log.exists() else 0
    with catch_signals() as watch, progress_bar.bar(f"{runs[0].name}, {processes} processes") as show:
        with plain_files.open_to_write(log, append=True) as output:
            # In a session of its own, because a terminal sends its signals to all processes of a session.
            process = subprocess.Popen(
                command(runs, processes, device), stdout=output, stderr=output, env=environment, start_new_session=True
            )
        signalled = False
        try:
            while process.poll() is None:
                time.sleep(POLL_SECONDS)
                if watch.received and not signalled:
                    signalled = True
                    # The processes that hold the locks save and end. Without such ones they have not begun.
                    holders = {holder for run in runs if (holder := lock.holder(run.path))}
                    for holder in holders:
                        with suppress(ProcessLookupError):
                            os.kill(holder, signal.SIGTERM)
                    if not holders:
                        process.terminate()
                show(*_progress(runs, processes))
        except BaseException:
            process.terminate()
            process.wait()
            raise
    _raise_if_unfinished(runs, watch.received, log, begin)
    return True


def _progress(runs: Sequence[RunFolder], processes: int) -> tuple[float, str]:
    """The share of the steps that the last logged step has reached, and a line of text."""
    row = metric_log.last_row(runs[0].metrics_file)
    steps = runs[0].facts().get("plan", {}).get("steps", 0)
    if not row or not steps:
        return 0.0, f"{runs[0].name}: starting {processes} processes"
    loss = f", loss {row['loss']:.3f}" if "loss" in row else ""
    return row["step"] / steps, f"{runs[0].name}, {processes} processes: step {row['step']:,}/{steps:,}{loss}"


def _raise_if_unfinished(runs: Sequence[RunFolder], received: int | None, log: Path, begin: int) -> None:
    run = next((run for run in runs if run.recorded_status() not in (Status.DONE, Status.FAILED)), runs[0])
    status = run.recorded_status()
    if status == Status.DONE or (status == Status.FAILED and len(runs) > 1):
        return
    if status == Status.FAILED:
        raise RunError(str(run.facts().get("wrong")))
    step = max(checkpoint.steps(run.checkpoints), default=0)
    if received:
        raise Interrupted(received, f"stopped and saved after step {step}", f"glasshouse resume {run.name}")
    with open(log, "rb") as file:
        file.seek(begin)
        lines = file.read().decode(errors="replace").splitlines()
    said = [line.removeprefix(ERROR_PREFIX) for line in lines if line.startswith(ERROR_PREFIX)]
    if said:
        raise RunError(said[0])
    saved = f"the checkpoint of step {step} is intact" if step else "there is no checkpoint yet"
    what = f"a process of {run.name} has ended before its last step; {saved}; its output is in {log}"
    raise RunError(f"{what}; continue with: glasshouse resume {run.name}")
