"""Baselines of classification: each learns what it can learn, and what cannot be trained says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import field_baselines, text_classifiers
from glasshouse.baselines.baseline import Baseline
from glasshouse.baselines.field_baselines import Examples
from glasshouse.metrics.metric import ACCURACY

LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1, max_size=40)


def examples(rows: list[tuple[str, str]]) -> Examples:
    return Examples([text for text, _ in rows], [label for _, label in rows], np.arange(len(rows)), len(rows))


def train(rows: list[tuple[str, str]], held_out: list[tuple[str, str]]) -> dict[str, Baseline]:
    splits = examples(rows), examples(held_out), examples(held_out)
    score = text_classifiers.score_classes
    return {method.name: field_baselines.train(method, *splits, score, (ACCURACY,)) for method in text_classifiers.METHODS}


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_that_differ_in_their_words_are_learned_by_all_but_the_commonest(classes: int) -> None:
    words = ["red", "blue", "green", "grey"][:classes]
    rows = [(f"the {word} thing number {number}", word) for number in range(20) for word in words]
    baselines = train([*rows, ("the red one", "red")], rows)
    accuracy = {name: baseline.metrics["accuracy"] for name, baseline in baselines.items()}
    assert accuracy == {"commonest-class": 1 / classes, "naive-bayes": 1, "words-and-pairs": 1, "characters": 1}
    assert baselines["naive-bayes"].values["accuracy"].tolist() == [1.0] * len(rows)


def test_only_pairs_of_words_tell_the_order_of_words() -> None:
    rows = [("not good bad", "bad"), ("not bad good", "good")] * 20
    baselines = train(rows, rows)
    assert baselines["words-and-pairs"].metrics["accuracy"] == 1
    assert baselines["naive-bayes"].metrics["accuracy"] == 0.5


def test_only_characters_tell_unknown_forms_of_a_word() -> None:
    rows = [(f"{stem}{end}", stem) for stem in ("walk", "sing") for end in ("s", "ed", "ing", "er")] * 5
    baselines = train(rows, [("walkable", "walk"), ("singable", "sing")])
    assert baselines["characters"].metrics["accuracy"] == 1
    assert baselines["words-and-pairs"].metrics["accuracy"] == 0.5


def test_one_class_and_an_empty_vocabulary_are_notes() -> None:
    one_class = train([("a text", "only")] * 3, [("a text", "only")])
    assert one_class["commonest-class"].metrics["accuracy"] == 1
    assert "only one class" in one_class["naive-bayes"].note
    no_words = train([("?", "a"), ("!", "b")], [("?", "a")])
    assert no_words["words-and-pairs"].note.startswith("cannot be trained: empty vocabulary")


@given(LABELS)
def test_the_mean_of_the_values_is_the_accuracy(pairs: list[tuple[str, str]]) -> None:
    truth, predictions = zip(*pairs, strict=True)
    metrics, values = text_classifiers.score_classes(truth, predictions)
    assert values["accuracy"].mean() == pytest.approx(metrics["accuracy"])
    assert metrics["accuracy"] == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))


@given(LABELS)
def test_the_scores_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    from sklearn.metrics import f1_score

    truth, predictions = zip(*pairs, strict=True)
    metrics, _ = text_classifiers.score_classes(truth, predictions)
    expected = f1_score(truth, predictions, labels=sorted(set(truth)), average="macro", zero_division=0)
    assert metrics["macro_f1"] == pytest.approx(expected)
