"""The metric that decides a study: on which split, declared by the task, and whether higher is better."""

from collections.abc import Mapping, Sequence

from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import Metric
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.tasks.base import Task


def held_out_splits(splits: Mapping[str, Shard]) -> list[str]:
    """The splits that a run is evaluated on at its end, validation first."""
    return [name for name, shard in splits.items() if name != "train" and shard.tokens_count > 1]


def default_metric(task: Task, splits: Sequence[str]) -> str:
    """The metric of a study without --metric: the task's criterion on the validation split, or else on a test split."""
    if not splits:
        raise SpecError(
            "the arms cannot be compared, because no text is held out; hold some out, for example with data.validation=0.1"
        )
    split = "validation" if "validation" in splits else splits[0]
    return f"{split}.{task.criterion}"


def check_metric(metric: str, task: Task, splits: Sequence[str], labels: Sequence[str] = ()) -> None:
    """Refuse a metric that these runs do not record, or for which neither higher nor lower is better."""
    per_class = [name for name, declared in task.metrics.items() if declared.per_class]
    names = [*task.metrics.comparable(), *(f"{name}.{label}" for name in per_class for label in labels)]
    split, _, name = metric.partition(".")
    if split in splits and name in names:
        return
    known = [f"{split}.{name}" for split in splits for name in task.metrics.comparable()]
    more = "".join(f", and {splits[0]}.{name}.CLASS" for name in per_class) if splits else ""
    listing = f"the metrics are: {', '.join(known)}{more}" if known else "no text is held out to measure it on"
    raise SpecError(f"is not a metric of these runs{catalogue.did_you_mean(metric, known)} ({listing})", "metric", metric)


def metric_declaration(metric: str, task: str) -> Metric:
    """The declaration of a metric (`validation.loss`) by the task with this name."""
    return catalogue.find("task", task, "task").metrics.find(metric.partition(".")[2])
