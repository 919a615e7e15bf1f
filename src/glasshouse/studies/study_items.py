"""The values of a study's runs item by item, from the files in their folders. Knows no verdict.

An item is a text, a pair or a window of text (`Task.item_values`). Every run of a study is scored on the same items.
"""

from collections.abc import Sequence

import numpy as np

from glasshouse.records import item_values, progress_bar
from glasshouse.records.status import Status
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.studies import run_queue
from glasshouse.studies.study_folder import Design, PlannedArm, StudyFolder
from glasshouse.training.job import Job
from glasshouse.verdicts.verdict import ItemScores

# Fewer items say little about the population that they come from.
FEWEST_ITEMS = 8
ItemsBySeed = dict[int, np.ndarray]


def check(metric: str, names: Sequence[str], jobs: Sequence[Job]) -> None:
    """Refuse a metric that is no mean over items, and arms that are not scored on the same items."""
    split, _, name = metric.partition(".")
    task = jobs[0].task
    if name not in task.item_metrics:
        known = ", ".join(f"{split}.{other}" for other in task.item_metrics)
        remedy = f"choose one of: {known}" if known else "leave --items out"
        raise SpecError(f"--items needs a metric that is a mean over items, and {metric} is none; {remedy}")
    counts = [job.task.item_count(job.prepared.splits[split]) for job in jobs]
    items = [_identity(job, split) for job in jobs]
    for arm, identity, count in zip(names, items, counts, strict=True):
        if identity != items[0]:
            raise SpecError(
                f"--items needs arms scored on the same items; {arm!r} has {count:,} others than the {counts[0]:,} "
                f"{task.items} of {names[0]!r}; leave --items out"
            )
    if counts[0] < FEWEST_ITEMS:
        raise SpecError(
            f"--items needs {FEWEST_ITEMS} {task.items} or more, and {split} has {counts[0]}; hold out more data"
        )


def _identity(job: Job, split: str) -> tuple[object, ...]:
    """Equal for jobs that are scored on the same items. Windows of text are the same only if the tokens are."""
    shard = job.prepared.splits[split]
    count = job.task.item_count(shard)
    tokens = "" if count == shard.documents else job.prepared.tokenizer.digest()
    return job.prepared.fingerprint, count, tokens


def score_runs(study: StudyFolder, design: Design, device: str) -> None:
    """Score the finished runs that have not been scored yet."""
    split = design.split
    runs = [study.run(arm, seed) for seed in design.seeds for arm in design.arms]
    left = [run for run in runs if run_queue.status(run) == Status.DONE and not item_values.file_of(run, split).exists()]
    if not left:
        return
    with progress_bar.bar(f"scoring the items of {study.name}", outer=True) as show, progress_bar.quiet():
        for index, run in enumerate(left):
            item_values.write(run, split, Run(run, device).item_values(split))
            show((index + 1) / len(left))


def scores(study: StudyFolder, design: Design) -> ItemScores:
    """The study's metric on each item, of the runs that have been scored."""
    task = catalogue.find("task", design.arms[0].spec.task, "task")
    return ItemScores({arm.name: values_by_seed(study, design, arm) for arm in design.arms}, task.items)


def values_by_seed(study: StudyFolder, design: Design, arm: PlannedArm) -> ItemsBySeed:
    """Seed -> the value of the study's metric on each item, for the runs of an arm that have been scored."""
    name, stored = design.metric_name, {seed: item_values.read(study.run(arm, seed), design.split) for seed in design.seeds}
    return {seed: np.asarray(values[name], float) for seed, values in stored.items() if name in values}
