"""Which number of a run's outcome decides a study, which way is better, and which are known before anything is trained."""

from collections.abc import Mapping, Sequence

from glasshouse.data.shards import Shard
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.tasks.base import Task

# Metric -> whether more is better. What only counts (tokens, examples) or is the same for every arm has no place here.
HIGHER = {
    "loss": False,
    "perplexity": False,
    "word_perplexity": False,
    "bits_per_byte": False,
    "error": False,
    "miss": False,
    "accuracy": True,
    "macro_f1": True,
    "bleu": True,
    "chrf": True,
    "exact": True,
    "retrieval_1": True,
    "retrieval_5": True,
    "picture_to_text_1": True,
    "picture_to_text_5": True,
}
RECALL = "recall."
# Which of them a task reports. A task of another package is not here; its metrics are known after its first run.
REPORTED = {
    "next-token": ("loss", "perplexity", "word_perplexity", "bits_per_byte"),
    "masked-token": ("loss", "perplexity", "accuracy"),
    "classify": ("accuracy", "macro_f1", "error", "loss"),
    "translate": ("loss", "perplexity", "bleu", "chrf", "exact"),
    "match": ("retrieval_1", "retrieval_5", "picture_to_text_1", "picture_to_text_5", "miss", "loss"),
}
# A task's criterion is lower where it is better; people know it under another name.
KNOWN_AS = {"error": "accuracy"}
# Per token, and so of no use between arms whose tokens differ.
PER_TOKEN = ("loss", "perplexity", "accuracy")


def measured(splits: Mapping[str, Shard]) -> list[str]:
    """The splits that a run is measured on at its end, validation first."""
    return [name for name, shard in splits.items() if name != "train" and shard.tokens_count > 1]


def usual(task: Task, splits: Sequence[str]) -> str:
    """The metric that decides where none was asked for: the criterion on the validation text, else on a test text."""
    if not splits:
        raise SpecError(
            "nothing-held-out", "nothing is held out to compare the arms on; hold some text out, such as data.validation=0.1"
        )
    split = "validation" if "validation" in splits else splits[0]
    return f"{split}.{KNOWN_AS.get(task.criterion, task.criterion)}"


def check(metric: str, task: str, splits: Sequence[str], labels: Sequence[str] = ()) -> None:
    """Refuse a metric that these runs will not have, or that cannot be better or worse."""
    reported = REPORTED.get(task, tuple(HIGHER))
    split, _, name = metric.partition(".")
    classes = [f"{RECALL}{label}" for label in labels] if task == "classify" else []
    if split in splits and (name in reported or name in classes):
        return
    known = [f"{each}.{one}" for each in splits for one in reported]
    more = f", and {splits[0]}.{RECALL}CLASS" if classes and splits else ""
    listing = f"the metrics are: {', '.join(known)}{more}" if known else "nothing is held out to measure"
    raise SpecError(
        "unknown-metric", f"--metric={metric} is not a metric of these runs{catalogue.nearest(metric, known)} ({listing})"
    )


def higher_is_better(metric: str) -> bool:
    """Whether more of it is better, by its name alone."""
    name = metric.partition(".")[2]
    return True if name.startswith(RECALL) else HIGHER.get(name, False)
