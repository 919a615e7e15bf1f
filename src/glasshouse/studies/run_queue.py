"""Doing the runs of a study: one place that knows which are left, in what order, how many at once, and how far they are.

A run that is done is kept, one that was interrupted goes on where it stood, one whose loss was not finite is a result and is
not repeated. Where the runs are done (here, one after another or side by side) is this file's matter alone.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from glasshouse.records import checkpoint, progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs.errors import Interrupted, RunError
from glasshouse.specs.spec import Spec
from glasshouse.training import loop
from glasshouse.training.replicas import alike
from glasshouse.training.signals import watching

ENDED = (Status.DONE, Status.FAILED)
# Bytes that surely hold the last line of a metric log.
TAIL = 4096


@dataclass(frozen=True)
class QueuedRun:
    """One run to do: where, what, what is known of it beforehand, and how many like it may train side by side."""

    run: RunFolder
    name: str  # "rotary, seed 3"
    spec: Spec
    recipe: str
    facts: dict[str, Any]
    replicas: int = 1
    arm: str = ""  # only runs of one arm train side by side

    @property
    def steps(self) -> int:
        return int(self.facts["plan"]["steps"])


def status(run: RunFolder) -> str:
    """What is recorded of a run; "absent" where there is none yet."""
    return str(run.facts().get("status")) if run.path.is_dir() else "absent"


def do(
    wanted: Sequence[QueuedRun],
    device: str,
    what: str,
    each: Callable[[QueuedRun], str] = lambda done: "",
) -> None:
    """Do the runs that are left, in this order; `each` gives a word on one that has ended.

    Raises Interrupted where a signal came, with everything saved.
    """
    left = {one.run for one in wanted if status(one.run) not in ENDED}
    if not left:
        return
    teller = _Teller(len(wanted), len(left), each)
    with watching() as watch, _showing(what, teller), _stopping(teller):
        # Sets are made of all the runs, so that those of a study that was stopped are the same when it goes on.
        for group in _groups(wanted):
            rest = [one for one in group if one.run in left]
            if not rest:
                continue
            teller.under_way = rest
            _train(rest, device)
            teller.ended()
            if watch.received and teller.left:
                raise Interrupted(watch.received, teller.stopped())


def _groups(wanted: Sequence[QueuedRun]) -> list[list[QueuedRun]]:
    """The runs in the sets that train at once; a set stands where its first run stood."""
    found: list[list[QueuedRun]] = []
    with_room: dict[str, list[list[QueuedRun]]] = {}
    for one in wanted:
        own = with_room.setdefault(one.arm, [])
        group = next((group for group in own if one.replicas > 1 and alike(group[0].spec, one.spec)), None)
        if group is None:
            group = []
            found.append(group)
            own.append(group)
        group.append(one)
        if len(group) >= one.replicas:
            own.remove(group)
    return found


def _train(group: Sequence[QueuedRun], device: str) -> None:
    """Train some runs to their end, side by side where they are several."""
    for one in group:
        if not one.run.path.is_dir():
            run_folder.make(one.run.path, one.spec, one.recipe, **one.facts)
    with progress_bar.quiet():
        loop.train_group([one.run for one in group], device, together=len(group) > 1)
    for one in group:
        facts = one.run.facts()
        if facts.get("status") not in ENDED:
            raise RunError("run-not-finished", f"{one.run.path} did not come to an end; continue the study to do it again")
        # A finished run is read, not continued: its best weights and its last are enough.
        best = facts.get("best")
        checkpoint.prune(one.run.checkpoints, {int(best["step"])} if best else set(), latest=1)


class _Teller:
    """How far the runs are, in shares and in words."""

    under_way: Sequence[QueuedRun] = ()

    def __init__(self, total: int, left: int, each: Callable[[QueuedRun], str]) -> None:
        self.total, self.left, self.each = total, left, each
        self.before, self.done = total - left, 0
        self.began = time.monotonic()

    def ended(self) -> None:
        """Note and say that the runs under way have come to their end."""
        group, self.under_way = self.under_way, ()
        for one in group:
            self.done += 1
            self.left -= 1
            word = self.each(one)
            if not progress_bar.watched():
                progress_bar.say(f"{one.name}: {word} ({self.before + self.done} of {self.total} runs{self.remaining()})")

    def remaining(self) -> str:
        """ ", about 3 min left", where there is anything left."""
        if not self.left:
            return ""
        seconds = (time.monotonic() - self.began) / self.done * self.left
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"

    def share(self) -> float:
        """The share of what was left that is done, a run that is under way counted by its steps."""
        return (self.done + sum(map(_reached, self.under_way))) / (self.done + self.left)

    def stopped(self) -> str:
        return f"stopped with {self.before + self.done} of {self.total} runs done, all saved"


def _reached(one: QueuedRun) -> float:
    """The share of its steps that a run has logged, from the end of its log."""
    try:
        with open(one.run.metrics_file, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
            lines = file.read().splitlines()
        return min(int(json.loads(lines[-1])["step"]) / one.steps, 1.0)
    except (OSError, ValueError, LookupError, TypeError):
        return 0.0  # nothing yet, or a line that is just being written


@contextmanager
def _showing(what: str, teller: _Teller) -> Iterator[None]:
    """A bar over all the runs, moved by what they log; nothing where nobody watches."""
    if not progress_bar.watched():
        yield
        return
    over = threading.Event()
    with progress_bar.bar(what, outer=True) as show:

        def follow() -> None:
            while not over.wait(0.5):
                show(teller.share(), f"{what}: {teller.before + teller.done} of {teller.total} runs")

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def _stopping(teller: _Teller) -> Iterator[None]:
    """Say of a signal what it means for the study, and not for the run that it hit."""
    try:
        yield
    except Interrupted as stop:
        raise Interrupted(stop.signal, teller.stopped()) from None
    except KeyboardInterrupt:
        raise Interrupted(signal.SIGINT, teller.stopped()) from None
