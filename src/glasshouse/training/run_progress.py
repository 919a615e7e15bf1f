"""A member of the loop: one run, what is logged, measured and saved of it, and how it ends. Takes no steps itself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol

from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import Metric
from glasshouse.records import checkpoint, metric_log
from glasshouse.records.checkpoint import Checkpoint, Tensors
from glasshouse.records.progress_bar import bar, say
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs.errors import RunError
from glasshouse.training.job import Job
from glasshouse.training.loggers import Logger


class State(Enum):
    """Where a run is in the loop. Only a run that is STEPPING takes steps."""

    STEPPING = auto()
    STOPPED = auto()  # early, for want of improvement: still to be measured
    TRAINED = auto()  # all steps taken: being measured
    FAILED = auto()  # its loss or gradient was not finite
    ENDED_BEFORE = auto()  # it had ended when the loop began, and is there for the replicas beside it


class TrainableModel(Protocol):
    """What a member asks of the model that is trained for it: an engine's, or a replica's."""

    def evaluate(
        self, shard: Shard, final: bool = False, progress: Callable[[float], None] = lambda share: None
    ) -> dict[str, float]: ...

    def groups(self) -> dict[str, Tensors]: ...

    def restore(self, checkpoint: Checkpoint) -> None: ...

    def use(self, weights: Tensors, where: str) -> None: ...


@dataclass
class CheckpointState:
    """Where a run stands: what a checkpoint holds besides tensors."""

    step: int = 0
    seconds: float = 0.0
    # The step, the metric and its value at the best evaluation so far; empty before the first.
    best: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def restored(cls, saved: Checkpoint, criterion: Metric) -> "CheckpointState":
        """What a checkpoint holds. Format 1 had errors where accuracies are now, and did not name the metric."""
        best = dict(saved.values["best"])
        if best and "metric" not in best:
            best = {**best, "metric": criterion.name}
            best["value"] = 1 - best["value"] if criterion.higher_is_better else best["value"]
        return cls(saved.step, saved.values["seconds"], best)


class RunProgress:
    """One run among those that the loop takes through their steps."""

    def __init__(self, run: RunFolder, job: Job, model: TrainableModel, progress: CheckpointState) -> None:
        self.run, self.job, self.model, self.progress = run, job, model, progress
        self.loggers: list[Logger] = []
        self.state = State.STEPPING

    def log(self, rows: list[tuple[int, dict[str, float]]]) -> None:
        """Write what was measured at some steps."""
        seconds = round(self.progress.seconds, 3)
        metric_log.append(self.run.metrics_file, *({"step": step, **values, "seconds": seconds} for step, values in rows))
        for logger in self.loggers:
            for step, values in rows:
                logger.log(step, values)

    def evaluate(self) -> dict[str, float]:
        """Measure on the validation text and log it; what was found, which is nothing where there is no such text."""
        shard = self.job.prepared.splits["validation"]
        if shard.tokens_count < 2:
            return {}
        metrics = self.model.evaluate(shard)
        self.log([(self.progress.step, {f"validation.{name}": value for name, value in metrics.items()})])
        return metrics

    def improves(self, metrics: dict[str, float]) -> bool:
        """Whether these are the best figures so far; if so, they are remembered."""
        if not metrics:
            return False
        criterion = self.job.task.metrics[self.job.task.criterion]
        value, best = metrics[criterion.name], self.progress.best
        if best and (value <= best["value"] if criterion.higher_is_better else value >= best["value"]):
            return False
        self.progress.best = {"step": self.progress.step, "metric": criterion.name, "value": value}
        return True

    @property
    def impatient(self) -> bool:
        """Whether so many evaluations have passed without a better one that the run ends early."""
        patience, best = self.job.spec.training.patience, self.progress.best
        waited = self.progress.step - best["step"] if best else 0
        return bool(patience) and waited >= patience * self.job.spec.evaluation.every

    def save(self) -> None:
        """Write a checkpoint, and delete those that are neither the best nor among the latest."""
        values = {"seconds": self.progress.seconds, "best": self.progress.best}
        checkpoint.save(self.run.checkpoints, Checkpoint(self.progress.step, self.model.groups(), values))
        keep = {int(self.progress.best["step"])} if self.progress.best else set()
        checkpoint.prune(self.run.checkpoints, keep)

    def stop(self) -> None:
        """End early: the best checkpoint is what counts, and it is saved."""
        self.state = State.STOPPED
        self.run.record(status=Status.STOPPED, stopped=self.progress.step)
        waited = self.job.spec.training.patience
        say(f"{self.run.name}: stopped after step {self.progress.step}: no better for {waited} evaluations")

    def finish(self, memory: int, batches_per_second: float, lap: Callable[[], float]) -> None:
        """Measure the best weights by the full rule, and record the outcome."""
        outcome: dict[str, Any] = {
            "seconds": self.progress.seconds,
            "memory": memory,
            "batches_per_second": batches_per_second,
        }
        if self.progress.best:
            try:
                best = checkpoint.load(self.run.checkpoints, int(self.progress.best["step"]))
                self.model.use(best.weights, "the best checkpoint")
            except RunError as error:
                say(f"{error}; the newest weights are measured instead of the best")
        for split in (name for name in self.job.prepared.splits if name != "train"):
            if self.job.prepared.splits[split].tokens_count > 1:
                with bar(f"measuring the best weights on the {split} text") as show:
                    outcome[split] = self.model.evaluate(self.job.prepared.splits[split], final=True, progress=show)
        headline = {
            split: self.job.task.metrics.headlines(outcome[split]) for split in self.job.prepared.splits if split in outcome
        }
        outcome["evaluation_seconds"] = lap()
        self.run.record(status=Status.DONE, outcome=outcome, headline=headline, best=self.progress.best)
