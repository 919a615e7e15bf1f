"""The queue of a study's runs: which runs are left, in what order they train, how many train together, how far they are.

A finished run is kept. An interrupted run continues from its checkpoint. A run whose loss was not finite is a result and is
not repeated. Only this file knows whether runs train one after another or together.
"""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.launching.submission import Submission
from glasshouse.records import checkpoint, lock, metric_log, progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs.errors import Interrupted, RunError
from glasshouse.specs.spec import Spec
from glasshouse.training import loop
from glasshouse.training.replicas import can_be_replicas, has_dropout
from glasshouse.training.run_progress import kept_steps
from glasshouse.training.signals import catch_signals

ENDED = (Status.DONE, Status.FAILED)


@dataclass(frozen=True)
class QueuedRun:
    """One run to train: its folder, its spec, facts recorded before training, and how many runs may train with it."""

    run: RunFolder
    name: str  # "rotary, seed 3"
    spec: Spec
    recipe: str
    facts: dict[str, Any]
    replicas: int = 1
    arm: str = ""  # with dropout, only runs of the same arm train together
    branch_of: RunFolder | None = None  # a run that takes the same steps up to its `training.checkpoint_at`

    @property
    def steps(self) -> int:
        return int(self.facts["plan"]["steps"])


# Groups of runs to train one after another. The runs of a group train together.
RunTask = Sequence[Sequence[QueuedRun]]


@dataclass(frozen=True)
class Place:
    """Where runs are trained: by this process. A method of another place returns what it submitted instead."""

    device: str = "auto"

    def plan(self, study: str) -> Submission | None:
        """Called before a study of this name is planned, which times steps on the device."""

    def measure(self, name: str) -> Submission | None:
        """Called before work of this name, of which studies are only a part."""

    def train(self, folder: Path, tasks: Sequence[RunTask]) -> Submission | None:
        """Called before the runs of the study in this folder train. The tasks may be done at the same time."""


def status(run: RunFolder) -> str:
    """The recorded status of a run; "absent" if its folder does not exist yet."""
    return str(run.facts().get("status")) if run.path.is_dir() else "absent"


def run_all(
    queue: Sequence[QueuedRun],
    place: Place,
    folder: Path,
    title: str,
    describe: Callable[[QueuedRun], str] = lambda run: "",
) -> Submission | None:
    """Train the runs that have not ended, in this order, or return the jobs that will.

    `describe` gives the result of an ended run in a few words. `folder` is that of the study. After a signal, everything is
    saved and Interrupted is raised.
    """
    for queued in queue:
        if status(queued.run) in ENDED:
            _delete_old_checkpoints(queued)  # a killed process may not have come to it
    if all(status(queued.run) in ENDED for queued in queue):
        return None
    # Groups are formed from all runs, finished ones included, so that a continued study has the same groups.
    groups = _groups(queue)
    if submitted := place.train(folder, _tasks(groups)):
        return submitted
    _run_groups(groups, place.device, title, describe)
    return None


def write_task(task: RunTask) -> list[list[dict[str, Any]]]:
    """A task in the form that `train_task` reads. The folders of its runs are created, and hold the rest."""
    for group in task:
        for queued in group:
            _create(queued)

    def table(queued: QueuedRun) -> dict[str, Any]:
        branch_of = str(queued.branch_of.path.absolute()) if queued.branch_of else None
        return {"run": str(queued.run.path.absolute()), "name": queued.name, "branch_of": branch_of}

    return [[table(queued) for queued in group] for group in task]


def train_task(task: Sequence[Sequence[Mapping[str, Any]]], device: str, title: str) -> None:
    """Train the groups of a task, in the form of `write_task`.

    Runs that another process trains come last: by then it may have finished them.
    """
    groups = [[_read_queued_run(table) for table in group] for group in task]
    groups.sort(key=lambda group: any(lock.is_held(queued.run.path) for queued in group))
    _run_groups(groups, device, title, lambda queued: status(queued.run))


def _tasks(groups: Sequence[list[QueuedRun]]) -> list[RunTask]:
    """Groups that are not finished, by task. A group that branches from another comes after it in the same task."""
    tasks: list[list[list[QueuedRun]]] = []
    task_of: dict[Path, list[list[QueuedRun]]] = {}
    for group in groups:
        if all(status(queued.run) in ENDED for queued in group):
            continue
        sources = [queued.branch_of.path for queued in group if queued.branch_of]
        task = next((task_of[source] for source in sources if source in task_of), None)
        if task is None:
            task = []
            tasks.append(task)
        task.append(group)
        task_of.update((queued.run.path, task) for queued in group)
    return list(tasks)


def _read_queued_run(table: Mapping[str, Any]) -> QueuedRun:
    run = run_folder.find(table["run"])
    facts = run.facts()
    branch_of = RunFolder(Path(table["branch_of"])) if table["branch_of"] else None
    return QueuedRun(run, table["name"], run.spec(), str(facts.get("recipe")), facts, branch_of=branch_of)


def _run_groups(
    groups: Sequence[Sequence[QueuedRun]], device: str, title: str, describe: Callable[[QueuedRun], str]
) -> None:
    queue = [queued for group in groups for queued in group]
    unfinished = {queued.run for queued in queue if status(queued.run) not in ENDED}
    progress = _QueueProgress(len(queue), len(unfinished), describe)
    with catch_signals() as watch, _followed(title, progress):
        for group in groups:
            remaining = [queued for queued in group if queued.run in unfinished]
            if not remaining:
                continue
            progress.training = remaining
            _train(remaining, device)
            progress.record_end()
            if watch.received and progress.left:
                raise progress.interruption(watch.received)


def _groups(queue: Sequence[QueuedRun]) -> list[list[QueuedRun]]:
    """The groups of runs that train together, in the order of each group's first run.

    The dropout masks of a run depend on its place in its group. If each arm has groups of its own, runs of one seed have
    the same masks in all arms, which makes arms easier to compare. So arms share groups only without dropout.
    """
    groups: list[list[QueuedRun]] = []
    open_groups: dict[str, list[list[QueuedRun]]] = {}  # arm -> groups that have room for more runs
    for queued in queue:
        candidates = open_groups.setdefault(queued.arm if has_dropout(queued.spec.model) else "", [])
        group = next(
            (group for group in candidates if queued.replicas > 1 and can_be_replicas(group[0].spec, queued.spec)), None
        )
        if group is None:
            group = []
            groups.append(group)
            candidates.append(group)
        group.append(queued)
        if len(group) >= queued.replicas:
            candidates.remove(group)
    return groups


def _train(group: Sequence[QueuedRun], device: str) -> None:
    for queued in group:
        _create(queued)
        if queued.run.recorded_status() == Status.NEW and not queued.run.checkpoints.exists():
            _start_from_branch(queued, group)
    with progress_bar.quiet():
        loop.train_group([queued.run for queued in group], device, together=len(group) > 1)
    for queued in group:
        if queued.run.recorded_status() not in ENDED:
            raise RunError(f"{queued.run.path} did not finish; continue the study to train it again")
        _delete_old_checkpoints(queued)


def _delete_old_checkpoints(queued: QueuedRun) -> None:
    """An ended run is only read from now on, so its best and its last checkpoint are enough, and one to be kept."""
    checkpoint.delete_unfinished(queued.run.checkpoints)
    best = queued.run.facts().get("best") or {}
    checkpoint.prune(queued.run.checkpoints, kept_steps(best, queued.spec), latest=1)


def _create(queued: QueuedRun) -> None:
    """Create the folder of a run that has none yet."""
    if not queued.run.path.is_dir():
        run_folder.create_at(queued.run.path, queued.spec, queued.recipe, **queued.facts)


def _start_from_branch(queued: QueuedRun, group: Sequence[QueuedRun]) -> None:
    """Copy what the run has in common with the run that it branches from, so that only its other steps are taken.

    Neither run may have been evaluated before. If the process dies meanwhile, the run takes all steps, with the same result.
    """
    if queued.branch_of is None:
        return
    source, target = queued.branch_of, queued.run
    step = source.spec().training.checkpoint_at
    if step not in checkpoint.steps(source.checkpoints):
        return
    shutil.copytree(checkpoint.folder_of(source.checkpoints, step), checkpoint.folder_of(target.checkpoints, step))
    shutil.copy(source.metrics_file, target.metrics_file)
    shutil.copy(source.tokenizer_file, target.tokenizer_file)
    if len(group) > 1:
        target.record(together=[os.path.relpath(other.run.path, target.path) for other in group])


class _QueueProgress:
    """How many runs have ended, which are training, and the time that is left."""

    training: Sequence[QueuedRun] = ()

    def __init__(self, total: int, left: int, describe: Callable[[QueuedRun], str]) -> None:
        self.total, self.left, self.describe = total, left, describe
        self.ended, self.start = 0, time.monotonic()

    def record_end(self) -> None:
        """Count the runs in training as ended and print a line for each, unless a progress bar is shown."""
        group, self.training = self.training, ()
        for queued in group:
            self.ended += 1
            self.left -= 1
            result = self.describe(queued)
            if not progress_bar.is_terminal():
                progress_bar.say(f"{queued.name}: {result} ({self.done()}{self.time_left()})")

    def time_left(self) -> str:
        """ ", about 3 min left"; empty if no run is left."""
        if not self.left:
            return ""
        seconds = (time.monotonic() - self.start) / self.ended * self.left
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"

    def share(self) -> float:
        """The finished share of the work of this call; a run in training counts by its logged steps."""
        logged = ((metric_log.last_row(queued.run.metrics_file).get("step", 0), queued.steps) for queued in self.training)
        return (self.ended + sum(min(step / steps, 1.0) for step, steps in logged)) / (self.ended + self.left)

    def done(self) -> str:
        return f"{self.total - self.left} of {self.total} runs"

    def interruption(self, number: int) -> Interrupted:
        return Interrupted(number, f"stopped with {self.done()} done, all saved")


@contextmanager
def _followed(title: str, progress: _QueueProgress) -> Iterator[None]:
    """Show a bar over all runs that follows their metric logs. The message of an interruption is about the whole queue."""
    ended = threading.Event()

    def follow(show: Callable[..., None]) -> None:
        while not ended.wait(0.5):
            show(progress.share(), f"{title}: {progress.done()}")

    with progress_bar.bar(title, outer=True) as show:
        thread = threading.Thread(target=follow, args=(show,), daemon=True)
        if progress_bar.is_terminal():
            thread.start()
        try:
            yield
        except (Interrupted, KeyboardInterrupt) as stop:
            raise progress.interruption(stop.signal if isinstance(stop, Interrupted) else signal.SIGINT) from None
        finally:
            ended.set()
            if thread.is_alive():
                thread.join()
