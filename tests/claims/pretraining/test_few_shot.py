"""The claim few-shot: its verdict on made-up values, its tasks, the best possible accuracy, and a quick run."""

import random
from collections import Counter

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining import few_shot
from glasshouse.claims.pretraining.few_shot import JUDGED, ON_TASKS, ON_TEXT, SHUFFLED, InContextExamples, key
from glasshouse.data.sources import label_tasks
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(model, none=0.25, with_examples=0.9, shuffled=0.25, noise=0.01):
    """Made-up accuracies of one model."""
    means = {key(model, 0): none, key(model, JUDGED): with_examples, key(model, JUDGED, SHUFFLED): shuffled}
    return {name: close_values(mean, noise, shift) for shift, (name, mean) in enumerate(means.items())}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"with_examples": 0.1}, REFUTED),
        ({"with_examples": 0.25}, TOO_SMALL),
        ({"shuffled": 0.9}, TOO_SMALL),  # what the labels say does not matter
        ({"noise": 3.0}, UNDECIDED),
    ],
)
def test_examples_must_help_and_their_labels_must_matter(changes, verdict):
    both = {**values(ON_TASKS, **changes), **values(ON_TEXT, **changes)}
    assert judge(InContextExamples, both).verdict == verdict


def test_the_verdict_may_depend_on_what_the_model_was_trained_on():
    finding = judge(InContextExamples, {**values(ON_TASKS), **values(ON_TEXT, with_examples=0.25)})
    assert finding.verdict == DEPENDS
    assert dict(finding.by_setting) == {few_shot.SETTINGS[ON_TASKS]: UPHELD, few_shot.SETTINGS[ON_TEXT]: TOO_SMALL}


def test_a_model_that_knows_labels_without_examples_is_shown_by_the_control():
    finding = judge(InContextExamples, {**values(ON_TASKS, none=0.4), **values(ON_TEXT)})
    names = {
        model: f"control: without examples, nothing can be known; model {few_shot.MODELS[model]}"
        for model in few_shot.SETTINGS
    }
    assert outcome(finding, names[ON_TASKS]) == REFUTED
    assert outcome(finding, names[ON_TEXT]) == UPHELD


def test_a_task_is_new_and_its_queries_are_not_among_its_examples():
    trained_on = set(label_tasks.assignments("train"))
    for seed in range(20):
        examples, queries = few_shot.draw_task(random.Random(seed))
        assert not set(examples.texts) & set(queries.texts)
        assert len(examples) == 24
        assert sorted(Counter(queries.labels).values()) == [2, 2, 2, 2]
        labels = dict(zip(examples.texts, examples.labels, strict=True))
        assignment = tuple(next(labels[word] for word in words if word in labels) for words in label_tasks.KINDS.values())
        assert assignment not in trained_on
        assert label_tasks.label_words(assignment).items() >= labels.items()


@pytest.mark.parametrize("shots", few_shot.SHOTS)
def test_the_best_accuracy_is_that_of_knowing_seen_kinds_and_guessing_among_the_labels_left(shots):
    generator, hits, count = random.Random(shots), 0.0, 1000
    for _ in range(count):
        examples, queries = few_shot.draw_task(generator)
        seen = set(examples.labels[:shots])
        left = len(set(queries.labels) - seen)
        hits += sum(1.0 if label in seen else 1 / left for label in queries.labels) / len(queries)
    assert few_shot.best_accuracy(shots) == pytest.approx(hits / count, abs=0.03)


def test_the_best_accuracy_of_none_and_of_one_example_is_known():
    assert few_shot.best_accuracy(0) == 0.25
    assert few_shot.best_accuracy(1) == 0.5


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity():
    trial = trials.try_claim("few-shot", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(InContextExamples.quantities)
    assert series[key(ON_TASKS, 0)].values == series[key(ON_TASKS, 0, SHUFFLED)].values, "without examples, none is shuffled"
    assert all(0 <= share <= 1 for values in series.values() for share in values.values.values())
    assert any("a prompt" in what for what, _ in trial.measured.facts)
