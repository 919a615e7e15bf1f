"""The cache of baselines: trained once for each data set and task, and again if an entry is damaged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from glasshouse.baselines import baseline_cache, linear_models, word_models
from glasshouse.baselines.baseline import Baseline, BaselineData, TaskBaselines
from glasshouse.baselines.baseline_cache import TASKS
from glasshouse.data import prepared_data
from glasshouse.metrics.metric import ACCURACY
from glasshouse.specs.spec import DataSpec, Spec
from glasshouse.tasks.classify import Classify

VALUES = {"accuracy": [1.0, 0.0]}
MADE = Baseline("one", "one", {"accuracy": 0.5}, {"accuracy": 1.0}, {"C": 4.0}, "a note", VALUES, [0, 3])


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[BaselineData]:
    """The data of each training of the only baseline, in a cache of its own."""
    seen: list[BaselineData] = []

    def train(data: BaselineData) -> Iterator[Baseline]:
        seen.append(data)
        yield MADE

    monkeypatch.setitem(TASKS, "classify", TaskBaselines(train, 1, (ACCURACY,)))
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    return seen


def load(rows: int = 60, validation: float = 0.1, test: float = 0.1) -> list[Baseline]:
    file = Path(f"rows-{rows}.tsv")
    file.write_text("".join(f"{'ab'[number % 2]}\tword {number}\n" for number in range(rows)))
    data = DataSpec(files=(str(file),), tokenizer="words", validation=validation, test=test)
    prepared = prepared_data.prepare(data, columns=("label",))
    return baseline_cache.load_or_train(data, prepared, Classify(Spec(data=data)), "classify")


def test_the_same_data_are_trained_on_once_and_other_data_again(calls: list[BaselineData]) -> None:
    [first], [again] = load(), load()
    assert len(calls) == 1
    assert again.values["accuracy"] == first.values["accuracy"]
    assert again.places == [0, 3]
    assert (again.metrics, again.validation, again.settings, again.note) == (
        MADE.metrics,
        MADE.validation,
        MADE.settings,
        MADE.note,
    )
    load(rows=70)
    assert len(calls) == 2


def test_a_damaged_entry_is_trained_again(calls: list[BaselineData], tmp_path: Path) -> None:
    load()
    [file] = (tmp_path / "cache" / "baselines").glob("*.json")
    file.write_bytes(b"damaged")
    assert load()[0].metrics == MADE.metrics
    assert len(calls) == 2


def test_without_a_test_split_validation_is_held_out_and_chooses_nothing(calls: list[BaselineData]) -> None:
    load(), load(test=0.0), load(validation=0.0)
    assert [(data.held_out, data.choice) for data in calls] == [("test", "validation"), ("validation", ""), ("test", "")]


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
    assert TASKS[task].count == (len(METHODS[task]) if task in METHODS else 2)


@pytest.mark.parametrize("task", METHODS)
def test_names_of_a_task_are_different_and_defaults_are_on_the_grid(task: str) -> None:
    assert len({method.name for method in METHODS[task]}) == len(METHODS[task])
    assert all(method.first < max(len(method.strengths), 1) for method in METHODS[task])
