"""The one training loop: steps, evaluations, checkpoints, metrics, signals. Knows no model and no task by name.

It takes one run through its steps, or several side by side as replicas: each is a member of the loop.
"""

import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict

from glasshouse.records import machine, metric_log
from glasshouse.records.progress_bar import say
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import catalogue
from glasshouse.specs.errors import Interrupted, RunError
from glasshouse.training import devices, nonfinite, peak_memory, resume
from glasshouse.training.engine import Engine, StepResult
from glasshouse.training.progress_display import Display, showing
from glasshouse.training.replicas import Replicas
from glasshouse.training.resume import RunGroup
from glasshouse.training.run_progress import CheckpointState, RunProgress, State, TrainableModel
from glasshouse.training.signals import Watch, insisting, watching

# Steps between looks at an accelerator's results: each look waits for it.
LOOK_EVERY = {"cpu": 1, "cuda": 10, "mps": 10}


def train(run: RunFolder, device_name: str = "auto") -> bool:
    """Train a run from wherever it stands to its end; whether there was anything left to do.

    Safe to call again after any interruption.
    """
    went_on, failed = _train([run], device_name, together=False)
    if failed:
        raise RunError("training-failed", failed[0])
    return went_on


def train_group(runs: Sequence[RunFolder], device_name: str = "auto", together: bool | None = None) -> list[str]:
    """Train several runs, each as `train` would, side by side as replicas where that is possible and faster.

    They differ in seed, learning rate, weight decay and initialisation alone. One whose loss is not finite is recorded as
    failed and the others go on; what became of those is returned, a sentence each. `together` insists on one way.
    """
    return _train(runs, device_name, together)[1]


def _train(runs: Sequence[RunFolder], device_name: str, together: bool | None) -> tuple[bool, list[str]]:
    """(whether there was anything left to do, what went wrong)."""
    device = devices.pick(device_name)
    failed: list[str] = []
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.locked())
        ended = (Status.DONE, Status.FAILED) if len(runs) > 1 else ()
        waiting = [run for run in runs if run.recorded_status() not in ended]
        for party in resume.parties(waiting):
            with insisting():
                opened = resume.open_party(party, device)
                sets = resume.divide(opened, together)
            if len(runs) == 1 and opened.step >= opened.jobs[0].steps and runs[0].recorded_status() == Status.DONE:
                say(f"{runs[0].name} has taken all its {opened.jobs[0].steps} steps already")
                return False, []
            for each in sets:
                with devices.threads(each.jobs[0].spec.training.threads):
                    with insisting():
                        prepared = _Loop(each)
                    failed += prepared.go()
    return bool(waiting), failed


class _Loop:
    """The state of one pass through the loop."""

    display: Display
    watch: Watch

    def __init__(self, opened: RunGroup) -> None:
        self.job = opened.jobs[0]
        self.engine: Engine | Replicas = self.job.engine() if len(opened.jobs) == 1 else Replicas(opened.jobs)
        self.members = []
        models: Sequence[TrainableModel] = self.engine.members
        rows = zip(opened.runs, opened.jobs, opened.saved, opened.ended, models, strict=True)
        for run, job, saved, ended, model in rows:
            progress = CheckpointState()
            if saved:
                model.restore(saved)
                progress = CheckpointState.restored(saved, job.task.metrics[job.task.criterion])
            self.members.append(RunProgress(run, job, model, progress))
            if ended:
                self.members[-1].state = State.ENDED_BEFORE
                continue
            metric_log.rewind(run.metrics_file, progress.step)
            run.record(machine=machine.describe(str(self.engine.device)))
        if isinstance(self.engine, Replicas):
            self.engine.freeze(opened.ended)
        self.step = opened.step
        self.pending: list[tuple[int, StepResult]] = []
        self.failed: list[str] = []
        self.clock = time.perf_counter()
        # Time and number of this process's steps alone, evaluations and checkpoints left out.
        self.stepped, self.steps_taken = 0.0, 0

    @property
    def going(self) -> list[RunProgress]:
        """The members that still take steps."""
        return [member for member in self.members if member.state is State.STEPPING]

    def go(self) -> list[str]:
        """Take the steps that are left, then measure; what became of runs that failed."""
        with ExitStack() as stack:
            self.watch = stack.enter_context(watching())
            for member in self.going:
                for name in self.job.spec.training.loggers:
                    logger = catalogue.find("logger", name)(member.run.path, asdict(member.job.spec))
                    stack.callback(logger.close)
                    member.loggers.append(logger)
                member.run.record(status=Status.TRAINING)
            self.display = stack.enter_context(showing(self.title, self.step, self.job.steps, self.job.task.metrics))
            peak_memory.reset(self.engine.device)
            self.clock = time.perf_counter()
            for member in self.going:
                if member.impatient:
                    member.stop()
            while self.step < self.job.steps and self.going:
                self._step()
        memory = peak_memory.bytes_since_reset(self.engine.device)
        speed = self.steps_taken / self.stepped if self.stepped else 0.0
        finishing = [member for member in self.members if member.state in (State.STEPPING, State.STOPPED)]
        for member in finishing:
            # From here on the clock is that of measuring, which is nobody's training time.
            member.state = State.TRAINED
        for member in finishing:
            member.finish(memory, speed, self._lap)
        return self.failed

    @property
    def title(self) -> str:
        first = self.members[0].run.name
        return first if len(self.members) == 1 else f"{first} and {len(self.members) - 1} more"

    def _step(self) -> None:
        """One step, and whatever is due after it."""
        settings = self.job.spec.evaluation
        every = self.job.spec.training.checkpoint_every or settings.every
        self.pending.append((self.step + 1, self.engine.step(self.step)))
        self.step += 1
        last = self.step == self.job.steps
        evaluating = last or self.step % settings.every == 0
        # Asked once: a signal that comes after this is obeyed after the next step, since nothing has saved this one for it.
        signalled = self.watch.received
        saving = last or self.step % every == 0 or signalled is not None
        # Nothing is measured or saved before it is known that the steps up to it were sound.
        if evaluating or saving or len(self.pending) >= LOOK_EVERY[self.engine.device.type]:
            self._look()
        better = evaluating and self._evaluate()
        # All or none, so that what they have in common is never far back.
        for member in self.going if saving or better else []:
            member.save()
        for member in self.going if evaluating and not last else []:
            if member.impatient:
                member.save()
                member.stop()
        self._lap()
        if signalled and not last and self.going:
            raise Interrupted(
                signalled,
                f"stopped after step {self.step} of {self.job.steps}, saved",
                f"glasshouse resume {self.members[0].run.name}",
            )

    def _look(self) -> None:
        """Read what the device has done and log it."""
        failures = self.engine.failures()
        tokens = self.job.task.batch_tokens(self.job.spec.training.batch) * len(self.pending)
        rows = [
            (step, taken.losses.tolist(), taken.gradient_norms.tolist(), taken.learning_rates)
            for step, taken in self.pending
        ]
        lap = self._lap()
        self.stepped += lap
        self.steps_taken += len(self.pending)
        self.pending.clear()
        for number, (member, bad) in enumerate(zip(self.members, failures, strict=True)):
            if member.state is not State.STEPPING:
                continue
            named = [
                (
                    step,
                    {
                        "loss": losses[number],
                        "gradient_norm": norms[number],
                        "learning_rate": rates[number],
                        "tokens_per_second": tokens / lap,
                    },
                )
                for step, losses, norms, rates in rows
                if bad < 0 or step <= bad
            ]
            if named:
                member.log(named)
            member.progress.step = self.step
            if bad >= 0:
                self._fail(member, bad)
        if self.going:
            rows_now = zip(rows[-1][1], self.members, strict=True)
            alive = [loss for loss, member in rows_now if member.state is State.STEPPING]
            self.display.step(self.step, statistics.fmean(alive), tokens * len(alive) / lap)

    def _lap(self) -> float:
        """Seconds since the last lap, added to the time of every run that still takes steps."""
        now = time.perf_counter()
        lap, self.clock = now - self.clock, now
        for member in self.going:
            member.progress.seconds += lap
        return lap

    def _evaluate(self) -> bool:
        """Measure every member on its validation text; whether any is better than ever."""
        measured = {id(member): member.evaluate() for member in self.going}
        self._lap()
        better = [member for member in self.going if member.improves(measured[id(member)])]
        found = [metrics for metrics in measured.values() if metrics]
        self.display.evaluation(self.step, _mean(found) if found else {})
        return bool(better)

    def _fail(self, member: RunProgress, step: int) -> None:
        """Give up a run whose loss or gradient is not finite, and say why."""
        member.state = State.FAILED
        wrong = f"step {step + 1}: the loss or its gradient is not finite"
        cure = "a lower training.learning_rate, a warm-up or clipping is the usual cure"
        if isinstance(self.engine, Engine):
            culprit = nonfinite.save(member.run.failure, self.engine, step)
            where = f"first in the {culprit.kind} of {culprit.module}" if culprit else "but not again when it was repeated"
            wrong = (
                f"{wrong}, {where}; the batch and the weights before it are in {member.run.failure}; "
                f"look with: glasshouse replay {member.run.name}"
            )
        else:
            wrong = f"{member.run.name}: {wrong}; the other replicas go on; train it alone to see where it begins"
        member.run.record(status=Status.FAILED, wrong=f"{wrong}; {cure}")
        self.failed.append(f"{wrong}; {cure}")
        if len(self.members) > 1:
            say(self.failed[-1])


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each metric."""
    return {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}
