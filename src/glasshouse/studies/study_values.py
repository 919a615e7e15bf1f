"""What the runs of a study measured: the metric that decides, its value in each run and on each item, verdicts on the arms.

An item is a text, a pair or a window of text (`Run.item_values`). Every run of a study is scored on the same items.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import Metric
from glasshouse.records import item_values, progress_bar
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.results.study import ArmPair
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.studies import multiverse, run_queue
from glasshouse.studies.study_folder import Design, PlannedArm, StudyFolder
from glasshouse.tasks.base import Task
from glasshouse.training.job import Job
from glasshouse.verdicts.verdict import UNDECIDED, Difference, ItemScores, judge, judge_pairs

# Fewer items say little about the population that they come from.
FEWEST_ITEMS = 8


def held_out_splits(splits: Mapping[str, Shard]) -> list[str]:
    """The splits that a run is evaluated on at its end, validation first."""
    return [name for name, shard in splits.items() if name != "train" and shard.tokens_count > 1]


def default_metric(task: Task, splits: Sequence[str]) -> str:
    """The metric of a study without --metric: the task's criterion on the validation split, or else on a test split."""
    if not splits:
        raise SpecError("no text is held out to compare the arms on; hold some out, such as data.validation=0.1")
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


def final_value(run: RunFolder, metric: str) -> float | None:
    """A run's metric at its end: NaN if the run diverged, None if it has not ended."""
    status = run_queue.status(run)
    if status not in run_queue.ENDED:
        return None
    if status == Status.FAILED:
        return math.nan
    split, _, name = metric.partition(".")
    outcome = run.facts().get("outcome", {})
    measured = outcome.get(split)
    if not isinstance(measured, dict) or name not in measured:
        known = [f"{split}.{name}" for split, values in outcome.items() if isinstance(values, dict) for name in values]
        raise RunError(f"{run.path} has no {metric}; compare by one of {', '.join(known)}, under another --name")
    number = float(measured[name])
    return number if math.isfinite(number) else math.nan


def describe_value(run: RunFolder, metric: str) -> str:
    """A run's metric at its end in words: `validation.loss 2.3456`, `diverged` or `not done`."""
    number = final_value(run, metric)
    if number is None:
        return "not done"
    return "diverged" if math.isnan(number) else f"{metric} {number:.4f}"


def final_values(study: StudyFolder, design: Design) -> dict[str, dict[int, float]]:
    """Arm -> seed -> metric of the runs that have ended."""
    by_arm: dict[str, dict[int, float]] = {}
    for arm in design.arms:
        by_seed = ((seed, _arm_value(study.run(arm, seed), arm, design.metric)) for seed in design.seeds)
        by_arm[arm.name] = {seed: number for seed, number in by_seed if number is not None}
    return by_arm


def _arm_value(run: RunFolder, arm: PlannedArm, metric: str) -> float | None:
    """As `final_value`. Refuses a run that was put there from elsewhere: a field that its arm varies has another value.

    The tables are compared as they are written, which takes a third of the time that specs take.
    """
    if arm.changes and run.path.is_dir():
        planned = spec_files.flat_fields(spec_files.tables_from_toml(spec_files.to_toml(arm.spec), run.name))
        found = spec_files.flat_fields(run.tables())
        for field in arm.changes:
            if planned.get(field) != found.get(field):
                wrong, right = (str(each.get(field))[:100] for each in (found, planned))
                raise RunError(f"{run.path} has {field}={wrong!r}, and its arm has {right!r}; put the run back or delete it")
    return final_value(run, metric)


def readable_values(study: StudyFolder, design: Design) -> tuple[dict[str, dict[int, float]], list[str]]:
    """As `final_values`, without the runs that are damaged, and what is wrong with each of those."""
    by_arm: dict[str, dict[int, float]] = {arm.name: {} for arm in design.arms}
    errors: list[RunError] = []
    damage: list[str] = []
    for arm in design.arms:
        for seed in design.seeds:
            run = study.run(arm, seed)
            try:
                if (number := _arm_value(run, arm, design.metric)) is not None:
                    by_arm[arm.name][seed] = number
                damage += run.sound_facts()[1] if run.path.is_dir() else []
            except RunError as error:
                errors.append(error)
    if errors and not any(by_arm.values()):
        raise errors[0]
    return by_arm, [*(f"left out as damaged: {error}" for error in errors), *damage]


def verdicts(study: StudyFolder, design: Design, values: Mapping[str, Mapping[int, float]]) -> dict[str, Difference]:
    """Arm -> its difference from the first arm, if it has two pairs of seeds. The correction counts all arms."""
    items = item_scores(study, design) if design.question.items else None
    differences = judge(values, design.rule, items)
    return {name: difference for name, difference in differences.items() if difference.pairs > 1}


def pair_verdicts(study: StudyFolder, design: Design, values: Mapping[str, Mapping[int, float]]) -> tuple[ArmPair, ...]:
    """The difference of each arm from each earlier arm, if they have two pairs of seeds, beside the planned comparisons.

    A study that asks "learned, rotary or none?" compares rotary and none with learned. All pairs also answer "rotary or
    none?". They are more comparisons, so each needs more evidence: Holm's correction runs over all pairs.
    """
    items = item_scores(study, design) if design.question.items else None
    differences = judge_pairs(values, design.rule, items).items()
    return tuple(ArmPair(arm, against, found) for (arm, against), found in differences if found.pairs > 1)


def current_verdicts(study: StudyFolder, design: Design) -> dict[str, Difference]:
    """The verdicts of the runs that have ended. The design's metric need not be that of the study."""
    return verdicts(study, design, final_values(study, design))


def is_decided(study: StudyFolder, design: Design) -> bool:
    """Whether every arm has a verdict, or can have none because it or the first arm diverged in every seed."""
    values = final_values(study, design)
    differences = verdicts(study, design, values)
    first, *others = (arm.name for arm in design.arms)
    if _all_diverged(values[first]):
        return True
    return all(
        _all_diverged(values[name]) or (name in differences and differences[name].word != UNDECIDED) for name in others
    )


def task_of(design: Design) -> type[Task]:
    found: type[Task] = catalogue.find("task", design.arms[0].spec.task, "task")
    return found


def splits_with_metric(study: StudyFolder, design: Design) -> list[str]:
    name = design.metric_name
    runs = (study.run(arm, seed) for arm in design.arms for seed in design.seeds)
    outcomes = (run.final_metrics() for run in runs if run_queue.status(run) == Status.DONE)
    outcome = next(outcomes, {})
    return [split for split in multiverse.SPLITS if name in outcome.get(split, {})]


def _all_diverged(values: Mapping[int, float]) -> bool:
    """Whether at least one seed has ended and all ended seeds diverged."""
    return bool(values) and all(math.isnan(number) for number in values.values())


def check_items(metric: str, names: Sequence[str], jobs: Sequence[Job]) -> None:
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
            raise SpecError(f"--items needs arms scored on the same {task.items}; {arm!r} has {count:,} others; drop it")
    if counts[0] < FEWEST_ITEMS:
        raise SpecError(f"--items needs {FEWEST_ITEMS} {task.items}, and {split} has {counts[0]}; hold out more data")


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


def item_scores(study: StudyFolder, design: Design) -> ItemScores:
    """The study's metric on each item, of the runs that have been scored."""
    return ItemScores({arm.name: item_values_by_seed(study, design, arm) for arm in design.arms}, task_of(design).items)


def item_values_by_seed(study: StudyFolder, design: Design, arm: PlannedArm) -> dict[int, np.ndarray]:
    """Seed -> the value of the study's metric on each item, for the runs of an arm that have been scored."""
    name, stored = design.metric_name, {seed: item_values.read(study.run(arm, seed), design.split) for seed in design.seeds}
    return {seed: np.asarray(values[name], float) for seed, values in stored.items() if name in values}
