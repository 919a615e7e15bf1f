"""The one training loop: steps, evaluations, checkpoints, metrics, signals. Knows no model and no task by name."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from glasshouse import tokenizers
from glasshouse.records import checkpoint, machine, metric_log
from glasshouse.records.atomic import write_text
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.folder import RunFolder
from glasshouse.records.progress import bar, say
from glasshouse.specs import catalogue, reading
from glasshouse.specs.errors import Interrupted, RunError
from glasshouse.training import devices, failure, peak, plan
from glasshouse.training.display import Display, showing
from glasshouse.training.engine import Engine, NotFinite, Taken
from glasshouse.training.interrupt import Watch, insisting, watching
from glasshouse.training.job import Job
from glasshouse.training.loggers import Logger

# Steps between looks at an accelerator's results: each look waits for it.
LOOK_EVERY = {"cpu": 1, "cuda": 10, "mps": 10}


@dataclass
class Progress:
    """Where a run stands: what a checkpoint holds besides tensors."""

    step: int = 0
    seconds: float = 0.0
    best: dict[str, float] = field(default_factory=dict)


def train(run: RunFolder, device_name: str = "auto") -> bool:
    """Train a run from wherever it stands to its end; whether there was anything left to do.

    Safe to call again after any interruption.
    """
    device = devices.pick(device_name)
    with run.locked():
        checkpoint.clean(run.checkpoints)
        with insisting():
            job, restored = _open(run, device)
        if restored and restored.step >= job.steps and run.facts().get("status") == "done":
            say(f"{run.name} has taken all its {job.steps} steps already")
            return False
        with ExitStack() as stack:
            stack.enter_context(devices.threads(job.spec.training.threads))
            engine = job.engine()
            progress = Progress()
            if restored:
                engine.restore(restored)
                progress = Progress(restored.step, **restored.values)
            metric_log.rewind(run.metrics_file, progress.step)
            run.record(machine=machine.describe(str(device)))
            loop = _Loop(run, job, engine, progress)
            loop.go()
            loop.finish()
    return True


def _open(run: RunFolder, device: Any) -> tuple[Job, Checkpoint | None]:
    """The job as the run folder has it, planned if it is new, and the newest checkpoint that is whole."""
    spec = run.spec()
    known = tokenizers.load(run.tokenizer_file) if run.tokenizer_file.exists() else None
    restored = checkpoint.newest(run.checkpoints, complain=say, delete=True)
    job = Job.of(spec, device, known, begins=restored is None)
    facts = run.facts()
    if facts.get("data", job.prepared.fingerprint) != job.prepared.fingerprint:
        raise RunError(
            f"the text of {run.name} has changed since the run began, so it cannot be continued exactly; "
            "put the old text back, or train a new run"
        )
    if known is None:
        job.prepared.tokenizer.save(run.tokenizer_file)
    if "plan" not in facts:
        planned = plan.make(job)
        # From here on the spec says what was chosen, so that it alone reproduces the run.
        chosen = {"precision": planned.precision, "threads": planned.threads}
        spec = replace(job.spec, training=replace(spec.training, **chosen))  # type: ignore[arg-type]
        write_text(run.spec_file, reading.to_toml(spec))
        run.record(plan=planned.facts(), data=job.prepared.fingerprint, labels=list(job.prepared.labels))
        if job.loaded:
            run.record(start=job.loaded.facts())
        for note in planned.notes:
            say(note)
        job = replace(job, spec=spec)
    return job, restored


@contextmanager
def _loggers(run: RunFolder, job: Job) -> Iterator[list[Logger]]:
    names = job.spec.training.loggers
    made = [catalogue.find("logger", name)(run.path, asdict(job.spec)) for name in names]
    try:
        yield made
    finally:
        for logger in made:
            logger.close()


class _Loop:
    """The state of one pass through the loop."""

    loggers: list[Logger]
    display: Display
    watch: Watch

    def __init__(self, run: RunFolder, job: Job, engine: Engine, progress: Progress) -> None:
        self.run, self.job, self.engine, self.progress = run, job, engine, progress
        self.pending: list[tuple[int, Taken]] = []
        self.clock = time.perf_counter()
        # Time and number of this process's steps alone, evaluations and checkpoints left out.
        self.stepped, self.steps_taken = 0.0, 0

    def go(self) -> None:
        """Take the steps that are left."""
        with ExitStack() as stack:
            self.watch = stack.enter_context(watching())
            self.loggers = stack.enter_context(_loggers(self.run, self.job))
            self.run.record(status="training")
            self.display = stack.enter_context(showing(self.run.name, self.progress.step, self.job.steps))
            peak.reset(self.engine.device)
            self.clock = time.perf_counter()
            try:
                for step in range(self.progress.step, self.job.steps):
                    self._step(step)
            except NotFinite as bad:
                self._fail(bad.step)

    def _step(self, step: int) -> None:
        """One step, and whatever is due after it."""
        settings = self.job.spec.evaluation
        every = self.job.spec.training.checkpoint_every or settings.every
        self.pending.append((step + 1, self.engine.step(step)))
        self.progress.step = step + 1
        last = self.progress.step == self.job.steps
        evaluating = last or self.progress.step % settings.every == 0
        # Asked once: a signal that comes after this is obeyed after the next step, because nothing has saved this one for it.
        signalled = self.watch.received
        saving = last or self.progress.step % every == 0 or signalled is not None
        # Nothing is measured or saved before it is known that the steps up to it were sound.
        if evaluating or saving or len(self.pending) >= LOOK_EVERY[self.engine.device.type]:
            self._look()
        if (evaluating and self._evaluate()) or saving:
            self._save()
        if signalled and not last:
            raise Interrupted(
                signalled,
                f"stopped after step {self.progress.step} of {self.job.steps}, saved; "
                f"continue with: glasshouse resume {self.run.name}",
            )

    def _look(self) -> None:
        """Read what the device has done and log it."""
        self.engine.check()
        tokens = self.job.task.tokens(self.job.spec.training.batch) * len(self.pending)
        losses = [(step, float(taken.loss), float(taken.gradient_norm), taken.learning_rate) for step, taken in self.pending]
        lap = self._lap()
        speed = tokens / lap
        self.stepped += lap
        self.steps_taken += len(self.pending)
        for step, loss, norm, rate in losses:
            self._log(step, {"loss": loss, "gradient_norm": norm, "learning_rate": rate, "tokens_per_second": speed})
        self.display.step(self.progress.step, losses[-1][1], speed)
        self.pending.clear()

    def _lap(self) -> float:
        """Seconds since the last lap, added to the run's time."""
        now = time.perf_counter()
        lap, self.clock = now - self.clock, now
        self.progress.seconds += lap
        return lap

    def _evaluate(self) -> bool:
        """Measure on the validation text; whether this is the best so far."""
        shard = self.job.prepared.splits["validation"]
        if shard.tokens_count < 2:
            self.display.evaluation(self.progress.step, {})
            return False
        metrics = self.engine.evaluate(shard)
        self._lap()
        self._log(self.progress.step, {f"validation.{name}": value for name, value in metrics.items()})
        self.display.evaluation(self.progress.step, metrics)
        value = metrics[self.job.task.criterion]
        if self.progress.best and value >= self.progress.best["value"]:
            return False
        self.progress.best = {"step": self.progress.step, "value": value}
        return True

    def _save(self) -> None:
        values = {"seconds": self.progress.seconds, "best": self.progress.best}
        checkpoint.save(self.run.checkpoints, Checkpoint(self.progress.step, self.engine.groups(), values))
        keep = {int(self.progress.best["step"])} if self.progress.best else set()
        checkpoint.prune(self.run.checkpoints, keep)
        self._lap()

    def _log(self, step: int, values: dict[str, float]) -> None:
        row = {"step": step, **values, "seconds": round(self.progress.seconds, 3)}
        metric_log.append(self.run.metrics_file, row)
        for logger in self.loggers:
            logger.log(step, values)

    def finish(self) -> None:
        """Measure the best weights by the full rule, and record the outcome."""
        outcome: dict[str, Any] = {
            "seconds": self.progress.seconds,
            "memory": peak.bytes_since_reset(self.engine.device),
            "batches_per_second": self.steps_taken / self.stepped if self.stepped else 0.0,
        }
        if self.progress.best:
            try:
                best = checkpoint.load(self.run.checkpoints, int(self.progress.best["step"]))
                self.engine.use(best.weights, "the best checkpoint")
            except RunError as error:
                say(f"{error}; the newest weights are measured instead of the best")
        for split in (name for name in self.job.prepared.splits if name != "train"):
            if self.job.prepared.splits[split].tokens_count > 1:
                with bar(f"measuring the best weights on the {split} text") as show:
                    outcome[split] = self.engine.evaluate(self.job.prepared.splits[split], whole=True, progress=show)
        outcome["evaluation_seconds"] = self._lap()
        self.run.record(status="done", outcome=outcome, best=self.progress.best)

    def _fail(self, step: int) -> None:
        culprit = failure.save(self.run.failure, self.engine, step)
        where = f"first in the {culprit.kind} of {culprit.module}" if culprit else "but not again when it was repeated"
        self.run.record(status="failed")
        raise RunError(
            f"step {step + 1}: the loss or its gradient is not finite, {where}; the batch and the weights before it are "
            f"in {self.run.failure}; look with: glasshouse replay {self.run.name}; a lower training.learning_rate, "
            "a warm-up or clipping is the usual cure"
        ) from None
