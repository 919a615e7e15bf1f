"""The progress of one run in the training loop: its log, evaluations, checkpoints, outcome and display. Takes no steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from rich.progress import TextColumn

from glasshouse.metrics.metric import LOSS, Metrics
from glasshouse.records import checkpoint, item_values, metric_log, progress_bar
from glasshouse.records.checkpoint import Checkpoint, CheckpointSaver
from glasshouse.records.progress_bar import bar, say
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import Spec
from glasshouse.training.job import Job
from glasshouse.training.loggers import Logger
from glasshouse.training.replicas import TrainableModel, evaluate

# The values of more items than this are not kept, so that their file stays small.
MOST_ITEMS = 1_000_000


class State(Enum):
    """The state of a run in the loop. Only a run that is STEPPING takes steps."""

    STEPPING = auto()
    STOPPED = auto()  # by early stopping; the final evaluation is still to come
    TRAINED = auto()  # all steps are done; the final evaluation runs
    FAILED = auto()  # its loss or gradient was not finite
    ENDED_BEFORE = auto()  # it ended in an earlier process and only keeps its place among the replicas


def kept_steps(best: Mapping[str, Any], spec: Spec) -> set[int]:
    """The steps whose checkpoints are kept: the best one, and that of `training.checkpoint_at`."""
    return {int(best["step"]) if best else 0, spec.training.checkpoint_at} - {0}


@dataclass(eq=False)
class RunProgress:
    """One of the runs that the loop trains. Of several processes that train it together, one writes its folder.

    With a saver, checkpoints are written while training goes on. A checkpoint has its step, the seconds of training, and the
    best evaluation so far: its step, its metric and the value. `sampled` is the step of the newest samples.
    """

    run: RunFolder
    job: Job
    model: TrainableModel
    writes: bool
    saver: CheckpointSaver | None
    step: int = 0
    seconds: float = 0.0
    best: dict[str, Any] = field(default_factory=dict)
    loggers: list[Logger] = field(default_factory=list)
    state: State = State.STEPPING
    sampled: int = 0

    def restore(self, saved: Checkpoint) -> None:
        """Load a checkpoint to continue from it. Refuses one that this run has not written: RunError."""
        self.step, self.seconds, self.best = saved.step, saved.values["seconds"], saved.values["best"]
        groups = {"model", "optimiser"} | ({"average"} if self.job.spec.training.ema else set())
        metrics, wrong = self.job.task.metrics, ""
        if missing := sorted(groups - set(saved.groups)):
            wrong = f"it lacks the tensors of {missing[0]!r}"
        elif saved.step > self.job.steps:
            wrong = f"it is of step {saved.step:,}, and the run has {self.job.steps:,} steps"
        elif self.best and (metric := self.best["metric"]) not in metrics:
            wrong = f"its best evaluation is by {metric!r}, and the metrics are {', '.join(metrics)}"
        if wrong:
            where = checkpoint.folder_of(self.run.checkpoints, saved.step)
            raise RunError(f"{where} is not of this run: {wrong}; delete it, or restore the run's spec.toml")
        self.model.restore(saved)

    def record(self, **facts: Any) -> None:
        if self.writes:
            self.run.record(**facts)

    def log(self, rows: list[tuple[int, dict[str, float]]]) -> None:
        """Write rows of (step, metrics) to the metric log and to the loggers."""
        if not self.writes:
            return
        seconds = round(self.seconds, 3)
        metric_log.append(self.run.metrics_file, *({"step": step, **values, "seconds": seconds} for step, values in rows))
        for logger in self.loggers:
            for step, values in rows:
                logger.log(step, values)

    def evaluate(self) -> dict[str, float]:
        """Evaluate on the validation split and log the metrics; returns them, or nothing if the split is empty."""
        shard = self.job.prepared.splits["validation"]
        if shard.tokens_count < 2:
            return {}
        metrics = evaluate(self.model, shard, final=False).metrics
        self.log([(self.step, {f"validation.{name}": value for name, value in metrics.items()})])
        return metrics

    def update_best(self, metrics: dict[str, float]) -> bool:
        """Record these metrics if they are the best so far; returns whether they are."""
        if not metrics:
            return False
        criterion = self.job.task.metrics[self.job.task.criterion]
        value, sign = metrics[criterion.name], 1 if criterion.higher_is_better else -1
        if self.best and sign * value <= sign * self.best["value"]:
            return False
        self.best = {"step": self.step, "metric": criterion.name, "value": value}
        return True

    @property
    def out_of_patience(self) -> bool:
        """Whether `training.patience` evaluations have passed without improvement, so that the run stops early."""
        patience = self.job.spec.training.patience * self.job.spec.evaluation.every
        return bool(patience and self.best) and self.step - self.best["step"] >= patience

    def save(self) -> None:
        """Write a checkpoint, and delete those that are neither the best nor to be kept nor among the latest."""
        values = {"seconds": self.seconds, "best": self.best}
        groups = self.model.checkpoint_groups()
        if not self.writes:
            return
        saved, keep = Checkpoint(self.step, groups, values), kept_steps(self.best, self.job.spec)
        if self.saver is not None:
            self.saver.save(self.run.checkpoints, saved, keep)
        else:
            checkpoint.save(self.run.checkpoints, saved)
            checkpoint.prune(self.run.checkpoints, keep)

    def stop(self) -> None:
        """Stop early. The best checkpoint is saved already."""
        self.state = State.STOPPED
        self.record(status=Status.STOPPED, stopped=self.step)
        patience = self.job.spec.training.patience
        say(f"{self.run.name}: stopped early after step {self.step}: no improvement in {patience} evaluations")

    def finish(self, memory: int, batches_per_second: float, elapsed_time: Callable[[], float]) -> None:
        """Run the final evaluation with the best weights, and record the outcome."""
        if self.writes:
            # A process that was killed after its last checkpoint may not have deleted the older ones.
            checkpoint.prune(self.run.checkpoints, kept_steps(self.best, self.job.spec))
        outcome: dict[str, Any] = {"seconds": self.seconds, "memory": memory, "batches_per_second": batches_per_second}
        if self.best:
            try:
                best = checkpoint.load(self.run.checkpoints, int(self.best["step"]))
                self.model.use_weights(best.weights, "the best checkpoint")
            except RunError as error:
                say(f"{error}; the newest weights are evaluated instead of the best")
        headline = {}
        for split, shard in self.job.prepared.splits.items():
            if split == "train" or shard.tokens_count < 2:
                continue
            with bar(f"evaluating the best weights on the {split} split") as show:
                evaluation = evaluate(self.model, shard, final=True, progress=show)
            outcome[split], items = evaluation.metrics, evaluation.items
            headline[split] = self.job.task.metrics.headlines(evaluation.metrics)
            if self.writes and items and max(map(len, items.values())) <= MOST_ITEMS:
                item_values.write(self.run, split, items)
        outcome["evaluation_seconds"] = elapsed_time()
        self.record(status=Status.DONE, outcome=outcome, headline=headline, best=self.best)


class Display:
    """Shows the latest metrics: in place on a terminal, while `live` is entered; elsewhere one line per evaluation."""

    def __init__(self, name: str, start: int, steps: int, metrics: Metrics) -> None:
        self.steps, self.metrics = steps, metrics
        self.figures = {"loss": "", "validation": "", "speed": ""}
        self.live = progress_bar.display(*(TextColumn("{task.fields[" + figure + "]}") for figure in self.figures))
        self.task = self.live.add_task(name, total=steps, completed=start, **self.figures)  # type: ignore[arg-type]

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        self.figures |= {"loss": f"loss {LOSS.text(loss)}", "speed": f"{tokens_per_second:,.0f} tokens/s"}
        self._show(step)

    def evaluation(self, step: int, metrics: dict[str, float]) -> None:
        for title, figure in self.metrics.headlines(metrics)[:1]:
            self.figures["validation"] = f"validation {title} {figure}"
        self._show(step)
        if not progress_bar.is_terminal():
            say(f"step {step}/{self.steps}  " + "  ".join(filter(None, self.figures.values())))

    def _show(self, step: int) -> None:
        self.live.update(self.task, completed=step, **self.figures)  # type: ignore[arg-type]
