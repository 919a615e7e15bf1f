"""The training loop: steps, evaluations, checkpoints, metrics, signals. It knows no particular model or task.

The loop trains one run, or several together as replicas. Each run is a member of the loop. As a program it is one process of
several that train runs together: `torchrun ... -m glasshouse.training.loop DEVICE RUN...`.
"""

import signal as signal_numbers
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import torch

from glasshouse.records import machine, metric_log, progress_bar, sample_log
from glasshouse.records.checkpoint import CheckpointSaver
from glasshouse.records.progress_bar import say
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError, Interrupted, RunError
from glasshouse.training import cost_plan, devices, nonfinite, parallelism, parent_death, process_group, resume, torchrun
from glasshouse.training.engine import Engine, StepResult
from glasshouse.training.evaluation_samples import EvaluationSamples
from glasshouse.training.parallelism import SINGLE, Parallelism
from glasshouse.training.process_group import LostProcess
from glasshouse.training.replicas import Replicas, TrainableModel
from glasshouse.training.resume import OpenedRun, step_of
from glasshouse.training.run_progress import Display, RunProgress, State
from glasshouse.training.signals import SignalWatch, catch_signals, reraise_lost_interrupt

# Steps between reads of the results, by device. Each read waits for an accelerator.
READ_EVERY = {"cpu": 1, "cuda": 10, "mps": 10}
# The minimum time between checkpoints of replicas, unless `training.checkpoint_every` is set or a run has improved. Many
# small models take less time to train than to save.
MIN_SAVE_SECONDS = 10.0
# The time between looks for a request to stop: a look at a shared folder can take longer than a step.
STOP_SECONDS = 0.5


def train(run: RunFolder, device_name: str = "auto") -> bool:
    """Train a run from its newest checkpoint, or from the start, to its end. Returns False if it was finished already.

    It is safe to call this again after any interruption. With `training.processes`, `torchrun` starts the processes.
    """
    if torchrun.is_needed([run]):
        return torchrun.train([run], device_name)
    trained, failures = _train([run], device_name, together=False)
    if failures:
        raise RunError(failures[0])
    return trained


def train_group(runs: Sequence[RunFolder], device_name: str = "auto", together: bool | None = None) -> list[str]:
    """Train several runs, each as `train` would; together as replicas if that is possible and faster, or as `together` says.

    They differ only in seed, learning rate, weight decay and initialisation. A run whose loss is not finite is recorded as
    failed, and the others continue. Returns one message per failed run.
    """
    if torchrun.is_needed(runs):
        torchrun.train(runs, device_name)
        return [str(run.facts()["wrong"]) for run in runs if run.recorded_status() == Status.FAILED]
    return _train(runs, device_name, together)[1]


def _train(runs: Sequence[RunFolder], device_name: str, together: bool | None) -> tuple[bool, list[str]]:
    """(whether any run was unfinished, one message per failed run)."""
    device = process_group.local_device(devices.pick(device_name))
    failures: list[str] = []
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.locked())
            if process_group.rank() == 0:
                run.stop_request.unlink(missing_ok=True)
        ended = (Status.DONE, Status.FAILED) if len(runs) > 1 else ()
        unfinished = [run for run in runs if run.recorded_status() not in ended]
        if process_group.size() > 1:
            together = False  # all processes train one run after another
            for run in runs:
                torchrun.set_processes(run, process_group.size())
        for companions in resume.started_together(unfinished):
            with reraise_lost_interrupt():
                opened = resume.open_group(companions, device)
                groups = resume.split_group(opened, together)
            steps = opened[0].job.steps
            if len(runs) == 1 and step_of(opened) >= steps and runs[0].recorded_status() == Status.DONE:
                say(f"{runs[0].name} is finished: it has taken all of its {steps} steps")
                return False, []
            for group in groups:
                with devices.threads(group[0].job.spec.training.threads), _explain_out_of_memory(group):
                    with reraise_lost_interrupt():
                        loop = _Loop(group, _call_followers(group, device_name))
                    failures += loop.run()
    return bool(unfinished), failures


def _call_followers(group: list[OpenedRun], device_name: str) -> Parallelism:
    """Tell the other ranks, if there are any, to take the steps of a run together with this one."""
    run, job = group[0].run, group[0].job
    # Replicas that started together in one process stay in one.
    kind, reason = cost_plan.choose_parallelism(job) if len(group) == 1 else (SINGLE, "")
    if kind != SINGLE:
        process_group.join()
        say(reason)
        run.record(parallel=kind)
        path = str(run.path.absolute())
        process_group.broadcast({"run": path, "step": step_of(group), "device": device_name, "kind": kind})
    return parallelism.connect(kind, job.spec.training.precision)


def follow() -> None:
    """What ranks above 0 do: train whatever rank 0 trains, until it is done. They write nothing."""
    process_group.join()
    with progress_bar.quiet():
        while (message := process_group.broadcast(None)) != process_group.END:
            device = process_group.local_device(devices.pick(message["device"]))
            group = resume.open_followed(RunFolder(Path(message["run"])), device, message["step"])
            training = group[0].job.spec.training
            with devices.threads(training.threads), suppress(Interrupted):
                _Loop(group, parallelism.connect(message["kind"], training.precision)).run()


@contextmanager
def _explain_out_of_memory(group: list[OpenedRun]) -> Iterator[None]:
    """Say what used the memory of the device, and what the user can change. The last checkpoint is kept."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        together = f", {len(group)} runs together" if len(group) > 1 else ""
        what = f"the device ran out of memory (training.batch={group[0].job.spec.training.batch}{together})"
        remedy = "End other programs, or choose a smaller training.batch or model, or more training.gradient_accumulation"
        raise RunError(f"{what}: {str(error).splitlines()[0]} {remedy}") from None


class _Loop:
    """The training of one group of runs, from their common step to their ends."""

    display: Display
    signals: SignalWatch

    def __init__(self, group: list[OpenedRun], parallelism: Parallelism) -> None:
        self.job, self.parallelism, alone = group[0].job, parallelism, len(group) == 1
        self.engine: Engine | Replicas = (
            self.job.engine(parallelism=parallelism) if alone else Replicas([opened.job for opened in group])
        )
        # Copies of many replicas at once would need too much memory, so these are written one after another.
        self.saver = CheckpointSaver() if alone else None
        self.members = []
        models: Sequence[TrainableModel] = self.engine.members
        for opened, model in zip(group, models, strict=True):
            run, member = opened.run, RunProgress(opened.run, opened.job, model, parallelism.rank == 0, self.saver)
            self.members.append(member)
            if opened.saved:
                member.restore(opened.saved)
            if opened.ended:
                member.state = State.ENDED_BEFORE
            elif member.writes:
                metric_log.rewind(run.metrics_file, member.step)
                sample_log.rewind(run.path, member.step)
                run.record(machine=machine.describe(str(self.engine.device)))
        if isinstance(self.engine, Replicas):
            self.engine.deactivate([opened.ended for opened in group])
        # Of weights that several processes share, no samples are made.
        self.samples = EvaluationSamples(self.job) if parallelism.size == 1 else None
        self.step = step_of(group)
        # Results that have not been read from the device yet, and when the first of their steps began.
        self.pending: list[tuple[int, StepResult]] = []
        self.pending_since = 0.0
        self.failures: list[str] = []
        self.clock = self.saved_at = self.looked_at = time.perf_counter()
        # Time and number of this process's steps, without evaluations and checkpoints.
        self.step_seconds, self.steps_taken = 0.0, 0

    @property
    def active(self) -> list[RunProgress]:
        """The members that still take steps."""
        return [member for member in self.members if member.state is State.STEPPING]

    def run(self) -> list[str]:
        """Take the remaining steps, then run the final evaluations. Returns one message per failed run."""
        with process_group.explain_lost_rank(self.members[0].run.name), process_group.working():
            self._take_steps()
            memory = devices.peak_memory(self.engine.device)
            speed = self.steps_taken / self.step_seconds if self.step_seconds else 0.0
            finishing = [member for member in self.members if member.state in (State.STEPPING, State.STOPPED)]
            for member in finishing:  # the final evaluation does not count as training time
                member.state = State.TRAINED
            for member in finishing:
                member.finish(memory, speed, self._add_elapsed_time)
        return self.failures

    def _take_steps(self) -> None:
        with ExitStack() as stack:
            self.signals = stack.enter_context(catch_signals())
            for member in self.active:
                for name in self.job.spec.training.loggers if member.writes else ():
                    logger = catalogue.find("logger", name)(member.run.path, asdict(member.job.spec))
                    stack.callback(logger.close)
                    member.loggers.append(logger)
                member.record(status=Status.TRAINING)
            others = f" and {len(self.members) - 1} more" if len(self.members) > 1 else ""
            self.display = Display(self.members[0].run.name + others, self.step, self.job.steps, self.job.task.metrics)
            stack.enter_context(self.display.live)
            devices.reset_peak_memory(self.engine.device)
            self.clock = time.perf_counter()
            for member in self.active:
                if member.out_of_patience:
                    member.stop()
            if self.saver is not None:
                # Whatever ends the steps, the last checkpoint is written first.
                stack.callback(self.saver.wait)
            while self.step < self.job.steps and self.active:
                self._step()

    def _step(self) -> None:
        """Take one step, then log, evaluate, save or stop as due."""
        settings = self.job.spec.evaluation
        if not self.pending:
            self.pending_since = time.perf_counter()
        self.pending.append((self.step + 1, self.engine.step(self.step)))
        self.step += 1
        last = self.step == self.job.steps
        evaluating = last or self.step % settings.every == 0
        reading = evaluating or len(self.pending) >= READ_EVERY[self.engine.device.type]
        # Read the signal once a step. A later signal is handled after the next step, when a checkpoint is saved for it.
        # Several processes agree on it when they read results, because each of them may receive it at another step.
        signal = None
        if self.parallelism.size == 1 or reading:
            signal = self.parallelism.agreed_signal(self.signals.received or self._requested_stop())
        saving = last or self._checkpoint_is_due() or signal is not None
        # Read the results before an evaluation or a checkpoint, so that neither uses the weights of a failed run.
        if reading or saving:
            self._read_results()
        improved = evaluating and self._evaluate()
        # All members save or none does, so that their newest common checkpoint is recent.
        if saving or improved:
            for member in self.active:
                member.save()
            self.saved_at = time.perf_counter()
        for member in self.active if evaluating and not last else []:
            if member.out_of_patience:
                member.save()
                member.stop()
        self._add_elapsed_time()
        if signal and not last and self.active:
            for member in self.members if self.parallelism.rank == 0 else ():
                member.run.stop_request.unlink(missing_ok=True)
            reached = f"stopped and saved after step {self.step} of {self.job.steps}"
            raise Interrupted(signal, reached, f"glasshouse resume {self.members[0].run.name}")

    def _requested_stop(self) -> int | None:
        """SIGTERM if some process asked one of these runs to stop by a file in its folder; see `RunFolder.ask_to_stop`."""
        if time.perf_counter() - self.looked_at < STOP_SECONDS:
            return None
        self.looked_at = time.perf_counter()
        asked = any(member.run.stop_request.exists() for member in self.active if member.writes)
        return signal_numbers.SIGTERM if asked else None

    def _checkpoint_is_due(self) -> bool:
        """Whether the settings ask for a checkpoint after this step."""
        if self.step == self.job.spec.training.checkpoint_at:
            return True
        if every := self.job.spec.training.checkpoint_every:
            return self.step % every == 0
        recent = len(self.members) > 1 and time.perf_counter() - self.saved_at < MIN_SAVE_SECONDS
        return self.step % self.job.spec.evaluation.every == 0 and not recent

    def _read_results(self) -> None:
        """Read the results of the pending steps from the device and log them."""
        failed_steps, stages = self.engine.failures(), self.engine.stages
        tokens = sum(self.job.task.batch_tokens(stages.at(step - 1).batch) for step, _ in self.pending)
        results = [(step, result.metrics()) for step, result in self.pending]
        self._add_elapsed_time()
        seconds = time.perf_counter() - self.pending_since
        self.step_seconds += seconds
        self.steps_taken += len(self.pending)
        self.pending.clear()
        latest_losses = []
        for number, (member, failed_step) in enumerate(zip(self.members, failed_steps, strict=True)):
            if member.state is not State.STEPPING:
                continue
            last = failed_step if failed_step >= 0 else self.step
            speed = {"tokens_per_second": tokens / seconds}
            if rows := [(step, metrics[number] | speed) for step, metrics in results if step <= last]:
                member.log(rows)
            member.step = self.step
            if failed_step >= 0:
                self._fail(member, failed_step)
            else:
                latest_losses.append(results[-1][1][number]["loss"])
        if latest_losses:
            self.display.step(self.step, statistics.fmean(latest_losses), tokens * len(latest_losses) / seconds)

    def _add_elapsed_time(self) -> float:
        """Add the seconds since the previous call to the training time of every active run; returns the seconds."""
        now = time.perf_counter()
        seconds, self.clock = now - self.clock, now
        for member in self.active:
            member.seconds += seconds
        return seconds

    def _evaluate(self) -> bool:
        """Evaluate every active run on its validation split; returns whether any run improved."""
        evaluated = [(member, member.evaluate()) for member in self.active]
        self._add_elapsed_time()
        # Samples of as many runs as there is time for, those with the oldest samples first.
        for member in sorted(self.active, key=lambda member: member.sampled):
            if self.samples is None or not self.samples.is_due(member.seconds):
                break
            self.samples.write(member.run, self.step, member.model)
            member.sampled = self.step
            self._add_elapsed_time()
        improved = [member for member, metrics in evaluated if member.update_best(metrics)]
        rows = [metrics for _, metrics in evaluated if metrics]
        means = {name: statistics.fmean(row[name] for row in rows) for name in rows[0]} if rows else {}
        self.display.evaluation(self.step, means)
        return bool(improved)

    def _fail(self, member: RunProgress, step: int) -> None:
        """Record a run as failed because its loss or gradient is not finite, with the reason and a remedy."""
        member.state = State.FAILED
        reason = f"step {step + 1}: the loss or its gradient is not finite"
        remedy = "try a lower training.learning_rate, a longer warm-up or stronger clipping"
        if isinstance(self.engine, Engine):
            # Only rank 0 repeats the step. The others end with it.
            culprit = nonfinite.save(member.run.failure, self.engine, step) if member.writes else None
            where = f"first in the {culprit.kind} of {culprit.module}" if culprit else "but was finite when repeated"
            reason = (
                f"{reason}, {where}; the batch and the weights before it are in {member.run.failure}; "
                f"inspect the step with: glasshouse replay {member.run.name}"
            )
        else:
            reason = f"{member.run.name}: {reason}; the other replicas continue; train this run alone to locate the cause"
        message = f"{reason}; {remedy}"
        member.record(status=Status.FAILED, wrong=message)
        self.failures.append(message)
        if len(self.members) > 1:
            say(message)


def run_as_rank(command: Callable[[], object]) -> None:
    """Run a command in one of the processes that `torchrun` has started: rank 0 runs it, the others train what it trains."""
    parent_death.end_with_parent()
    if process_group.rank() > 0:
        follow()
        return
    try:
        command()
    finally:
        process_group.release()


def main(device: str, *paths: str) -> int:
    """Train the runs in these folders. Returns the exit status."""
    runs = [RunFolder(Path(path)) for path in paths]
    try:
        run_as_rank(lambda: train(runs[0], device) if len(runs) == 1 else train_group(runs, device))
        return 0
    except GlasshouseError as error:
        # The process that was lost says why itself.
        prefix = "" if isinstance(error, LostProcess) else torchrun.ERROR_PREFIX
        print(f"{prefix}{error}", file=sys.stderr, flush=True)
        return error.exit_status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
