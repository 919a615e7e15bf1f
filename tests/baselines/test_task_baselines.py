"""The list of baselines: every task counts its own, and ranks them by a metric with a direction."""

import pytest

from glasshouse.baselines import linear_models, word_models
from glasshouse.baselines.task_baselines import TASKS

METHODS = {
    "classify": linear_models.CLASSIFIERS,
    "translate": word_models.TRANSLATORS,
    "regress": linear_models.REGRESSORS,
    "multi-label": linear_models.MULTI_LABEL_CLASSIFIERS,
    "tag": word_models.TAGGERS,
}


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_directed_criterion_and_counts_its_baselines(task: str) -> None:
    assert all(metric.better for metric in TASKS[task].criteria)
    assert TASKS[task].count == len(METHODS[task]) if task in METHODS else 3


@pytest.mark.parametrize("task", METHODS)
def test_names_of_a_task_are_different_and_defaults_are_on_the_grid(task: str) -> None:
    assert len({method.name for method in METHODS[task]}) == len(METHODS[task])
    assert all(method.first < max(len(method.strengths), 1) for method in METHODS[task])
