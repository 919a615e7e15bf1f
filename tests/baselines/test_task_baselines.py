"""The list of baselines: every task counts its own, and ranks them by a metric with a direction."""

import pytest

from glasshouse.baselines import multi_label_classifiers, text_classifiers, text_regressors, word_taggers, word_translators
from glasshouse.baselines.task_baselines import TASKS

METHODS = {
    "classify": text_classifiers.METHODS,
    "translate": word_translators.METHODS,
    "regress": text_regressors.METHODS,
    "multi-label": multi_label_classifiers.METHODS,
    "tag": word_taggers.METHODS,
}


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_directed_criterion_and_counts_its_baselines(task: str) -> None:
    assert all(metric.better for metric in TASKS[task].criteria)
    assert TASKS[task].count == len(METHODS[task]) if task in METHODS else 3


@pytest.mark.parametrize("task", METHODS)
def test_names_of_a_task_are_different_and_defaults_are_on_the_grid(task: str) -> None:
    assert len({method.name for method in METHODS[task]}) == len(METHODS[task])
    assert all(method.first < max(len(method.strengths), 1) for method in METHODS[task])
