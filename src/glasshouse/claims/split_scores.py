"""The runs of a study measured on a text that they were not measured on at their end, such as the one they learned from."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import nn

from glasshouse.claims.bench import Bench
from glasshouse.data import prepared_data
from glasshouse.pages.study_content import StudyResults
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.training import precision

ByMetric = dict[str, dict[int, float]]
# What makes any recipe short enough for a quick look, beside its steps: nothing is measured that a plan would measure.
QUICK = ("training.precision=fp32", "training.threads=1", "model.layers=1")
# And for the addresses that ship with the package: a few words as tokens, of which there are fewer to be measured on.
QUICK_TEXT = ("data.tokenizer=words", "data.vocabulary=256", "data.context=16", "evaluation.stride=16")


def measured(bench: Bench, study: StudyResults, arm: str, split: str, **evaluation: Any) -> ByMetric:
    """Metric -> seed -> value of an arm's runs on a split, by the task's full rule; other settings of the evaluation are
    given by name, such as `stride=32`."""
    changed = "".join(f"-{name}-{value}" for name, value in evaluation.items())
    return kept(bench, study, arm, f"{split}{changed}", lambda run: score(run, run.model, split, **evaluation))


def score(run: Run, model: nn.Module, split: str, **evaluation: Any) -> dict[str, float]:
    """The task's metrics of a model, a run's own or one made from it, on a split of the run's data."""
    prepared = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns)
    settings = replace(run.spec.evaluation, **evaluation)
    # As at the end of training: bf16 is for accelerators.
    chosen = "fp32" if run.device.type == "cpu" else run.spec.training.precision
    with precision.context(chosen, run.device):
        return run.task.evaluate(model, prepared.splits[split], settings, final=True)


def kept(bench: Bench, study: StudyResults, arm: str, what: str, read: Callable[[Run], dict[str, float]]) -> ByMetric:
    """Metric -> seed -> value of an arm's runs, found once for so many seeds and kept in the study's folder."""
    place = [each.name for each in study.arms].index(arm)
    name = f"{what}-of-arm-{place}-by-{len(study.arms[place].seeds)}"
    rows = bench.once(name, lambda: {str(run.spec.training.seed): read(run) for run in bench.runs(study, arm)}, of=study)
    if not rows:
        raise RunError(
            "all-diverged",
            f"no seed of {arm!r} in {study.name} came through, so there is nothing to measure; see why each stopped",
        )
    metrics = {metric for row in rows.values() for metric in row}
    return {metric: {int(seed): row[metric] for seed, row in rows.items()} for metric in sorted(metrics)}
