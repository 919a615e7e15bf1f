"""Scores of a study's runs on a split that the final evaluation does not cover, such as the training text.

Also the series of a baseline that is not trained, such as a count of the commonest class.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from glasshouse.claims.bench import Bench
from glasshouse.data import prepared_data
from glasshouse.models.base import Model
from glasshouse.results.claim import Series
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.training import precision

ByMetric = dict[str, dict[int, float]]  # metric -> seed -> value
# Overrides that make any recipe small enough for a quick run. It computes alike on every machine.
QUICK = ("training.precision=fp32", "training.threads=1", "model.layers=1")


def score_arm(bench: Bench, study: StudyResults, arm: str, split: str, **evaluation: Any) -> ByMetric:
    """Metric -> seed -> value of an arm's runs on a split, by the task's full evaluation.

    Keyword arguments change the settings of the task in the spec's evaluation section, such as `stride=32`.
    """
    changes = "".join(f"-{name}-{value}" for name, value in evaluation.items())
    name = f"{split}{changes}"
    return cached_by_seed(bench, study, arm, name, lambda run: score_model(run, run.model, split, **evaluation))


def score_model(run: Run, model: Model, split: str, **evaluation: Any) -> dict[str, float]:
    """The task's metrics of a model on a split of the run's data. The model is the run's own or derived from it."""
    prepared = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns)
    settings = replace(run.spec.evaluation, own={**run.spec.evaluation.own, **evaluation})
    with evaluation_precision(run):
        return run.task.evaluate(model, prepared.splits[split], settings).metrics


def evaluation_precision(run: Run) -> AbstractContextManager:
    """The number format of the evaluation at the end of training: lower precision is used on accelerators only."""
    return precision.context("fp32" if run.device.type == "cpu" else run.spec.training.precision, run.device)


def cached_by_seed(
    bench: Bench, study: StudyResults, arm: str, name: str, compute: Callable[[Run], dict[str, float]]
) -> ByMetric:
    """Metric -> seed -> value of an arm's runs; NaN if the run diverged. Cached in the study's folder."""
    rows = cached_rows(bench, study, arm, name, compute)
    [seeds] = [candidate.seeds for candidate in study.arms if candidate.name == arm]
    metrics = sorted({metric for row in rows.values() for metric in row})
    return {metric: {seed: rows[seed][metric] if seed in rows else math.nan for seed in seeds} for metric in metrics}


def cached_rows(
    bench: Bench, study: StudyResults, arm: str, name: str, compute: Callable[[Run], dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Seed -> what `compute` gives for the arm's finished run. Cached in the study's folder for this number of seeds."""
    index = [candidate.name for candidate in study.arms].index(arm)
    file = f"{name}-of-arm-{index}-by-{len(study.arms[index].seeds)}"
    rows = bench.cached(
        file, lambda: {str(run.spec.training.seed): compute(run) for run in bench.finished_runs(study, arm)}, study
    )
    if not rows:
        raise RunError(
            f"every seed of the arm {arm!r} in the study {study.name} diverged, so there is nothing to measure; lower its "
            "learning rate"
        )
    return {int(seed): row for seed, row in rows.items()}


def item_series(rows: Mapping[int, Sequence[float]]) -> Series:
    """The series of a quantity from unit -> one value for each item."""
    return Series(
        {unit: statistics.fmean(row) for unit, row in rows.items()}, {unit: tuple(row) for unit, row in rows.items()}
    )


def same_for_every(units: Iterable[int], value: float | Sequence[float]) -> Series:
    """The series of a baseline that no seed changes: one value, or one for each item, repeated so that units pair."""
    if isinstance(value, Sequence):
        return item_series(dict.fromkeys(units, value))
    return Series(dict.fromkeys(units, value))
