"""Which metric decides a study: on which split, declared by the task, and which way is better."""

from collections.abc import Mapping, Sequence

from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import Metric
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.tasks.base import Task


def held_out(splits: Mapping[str, Shard]) -> list[str]:
    """The splits that a run is measured on at its end, validation first."""
    return [name for name, shard in splits.items() if name != "train" and shard.tokens_count > 1]


def usual(task: Task, splits: Sequence[str]) -> str:
    """The metric that decides where none was asked for: the task's criterion on validation, else on a test split."""
    if not splits:
        raise SpecError(
            "nothing-held-out", "nothing is held out to compare the arms on; hold some text out, such as data.validation=0.1"
        )
    split = "validation" if "validation" in splits else splits[0]
    return f"{split}.{task.criterion}"


def check(metric: str, task: Task, splits: Sequence[str], labels: Sequence[str] = ()) -> None:
    """Refuse a metric that these runs will not have, or that cannot be better or worse."""
    classes = [name for name, each in task.metrics.items() if each.per_class]
    names = [*task.metrics.deciding(), *(f"{name}.{label}" for name in classes for label in labels)]
    split, _, name = metric.partition(".")
    if split in splits and name in names:
        return
    known = [f"{each}.{one}" for each in splits for one in task.metrics.deciding()]
    more = "".join(f", and {splits[0]}.{name}.CLASS" for name in classes) if splits else ""
    listing = f"the metrics are: {', '.join(known)}{more}" if known else "nothing is held out to measure"
    raise SpecError(
        "unknown-metric", f"--metric={metric} is not a metric of these runs{catalogue.nearest(metric, known)} ({listing})"
    )


def declared(metric: str, task: str) -> Metric:
    """What the task of this name declares of a metric (`validation.loss`)."""
    return catalogue.find("task", task, "task").metrics.find(metric.partition(".")[2])
