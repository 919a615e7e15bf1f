"""Linear baselines: their features, classes, sets of labels and numbers."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import field_baselines, linear_models
from glasshouse.baselines.baseline import Baseline
from glasshouse.baselines.field_baselines import Examples
from glasshouse.metrics.metric import ACCURACY, EXACT, Metric


def test_words_may_be_single_letters_and_pairs_are_features() -> None:
    features = linear_models.words_and_pairs(["a cat", "a dog"])
    assert set(features.vectorizer.get_feature_names_out()) == {"a", "cat", "dog", "a cat", "a dog"}


def test_the_number_of_features_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_models, "MOST_FEATURES", 3)
    for featurise in (linear_models.word_counts, linear_models.words_and_pairs, linear_models.characters):
        assert featurise(["one two three four", "five six"]).training.shape == (2, 3)


def test_the_last_texts_are_transformed_once() -> None:
    features, texts = linear_models.word_counts(["one two"]), ["two"]
    assert features.of(texts) is features.of(texts)
    assert features.of(["one"]).toarray().tolist() == [[1, 0]]


LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1, max_size=40)


def examples(rows: list[tuple[str, str]]) -> Examples:
    return Examples([text for text, _ in rows], [label for _, label in rows], np.arange(len(rows)), len(rows))


def train(rows: list[tuple[str, str]], held_out: list[tuple[str, str]]) -> dict[str, Baseline]:
    splits = examples(rows), examples(held_out), examples(held_out)
    score = linear_models.score_classes
    return {method.name: field_baselines.train(method, *splits, score, (ACCURACY,)) for method in linear_models.CLASSIFIERS}


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_that_differ_in_their_words_are_learned_by_all_but_the_commonest(classes: int) -> None:
    words = ["red", "blue", "green", "grey"][:classes]
    rows = [(f"the {word} thing number {number}", word) for number in range(20) for word in words]
    baselines = train([*rows, ("the red one", "red")], rows)
    accuracy = {name: baseline.metrics["accuracy"] for name, baseline in baselines.items()}
    assert accuracy == {"commonest-class": 1 / classes, "naive-bayes": 1, "words-and-pairs": 1, "characters": 1}
    assert baselines["naive-bayes"].values["accuracy"] == [1.0] * len(rows)


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
    metrics, values = linear_models.score_classes(truth, predictions)
    assert values["accuracy"].mean() == pytest.approx(metrics["accuracy"])
    assert metrics["accuracy"] == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))


@given(LABELS)
def test_the_scores_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    from sklearn.metrics import f1_score

    truth, predictions = zip(*pairs, strict=True)
    metrics, _ = linear_models.score_classes(truth, predictions)
    expected = f1_score(truth, predictions, labels=sorted(set(truth)), average="macro", zero_division=0)
    assert metrics["macro_f1"] == pytest.approx(expected)


SETS = st.sets(st.sampled_from("abc")).map(lambda names: "|".join(sorted(names)))


def test_labels_that_have_words_of_their_own_are_learned() -> None:
    rows = [("sun rain", "warm|wet"), ("sun", "warm"), ("rain", "wet"), ("nothing", "")] * 10
    texts, fields = ([row[side] for row in rows] for side in (0, 1))
    split = Examples(texts, fields, np.arange(len(rows)), len(rows))
    commonest, regression = (
        field_baselines.train(method, split, split, split, linear_models.score_label_sets, (EXACT,))
        for method in linear_models.MULTI_LABEL_CLASSIFIERS
    )
    assert commonest.metrics["exact"] == 0.25
    assert regression.metrics == {"micro_f1": 1, "macro_f1": 1, "exact": 1}


def test_a_label_that_all_texts_have_is_predicted_for_all() -> None:
    split = Examples(["one", "two"] * 3, ["all|odd", "all"] * 3, np.arange(6), 6)
    predictor = linear_models.one_versus_rest(split)(64.0)
    assert predictor(["one", "other"]) == ["all|odd", predictor(["other"])[0]]
    assert "all" in predictor(["other"])[0].split("|")


@given(st.lists(st.tuples(SETS, SETS), min_size=1, max_size=20))
def test_the_scores_of_sets_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    from sklearn.metrics import f1_score

    truth, predictions = ([pair[side] for pair in pairs] for side in (0, 1))
    metrics, values = linear_models.score_label_sets(truth, predictions)
    tables = [linear_models.membership(side, "abc") for side in (truth, predictions)]
    if tables[0].any() or tables[1].any():
        assert metrics["micro_f1"] == pytest.approx(f1_score(*tables, average="micro", zero_division=0))
    assert metrics["exact"] == pytest.approx(float((tables[0] == tables[1]).all(1).mean()))
    assert values["exact"].mean() == pytest.approx(metrics["exact"])


RMSE = Metric("rmse", "RMSE", "{:.4g}", "lower")
NUMBERS = st.floats(-1e3, 1e3)


def test_values_that_depend_on_words_are_learned_by_ridge_regression() -> None:
    generator = Random(0)
    worth = {"good": 2.0, "fine": 1.0, "poor": -1.0, "bad": -2.0}
    texts = [" ".join(generator.choices(list(worth), k=3)) for _ in range(200)]
    values = [repr(sum(worth[word] for word in set(text.split()))) for text in texts]
    splits = [Examples(texts[begin::2], values[begin::2], np.arange(100), 100) for begin in (0, 1)]
    mean, ridge = (
        field_baselines.train(method, splits[0], splits[1], splits[1], linear_models.score_values, (RMSE,))
        for method in linear_models.REGRESSORS
    )
    assert mean.metrics["r2"] <= 0
    assert ridge.metrics["r2"] > 0.9
    assert np.mean(ridge.values["mae"]) == pytest.approx(ridge.metrics["mae"])


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_rmse_is_at_least_the_mean_absolute_error(pairs: list[tuple[float, float]]) -> None:
    truth, predictions = ([repr(value) for value in side] for side in zip(*pairs, strict=True))
    metrics, values = linear_models.score_values(truth, predictions)
    assert metrics["rmse"] >= metrics["mae"] * (1 - 1e-12) - 1e-100
    assert metrics["r2"] <= 1
    assert len(values["mae"]) == len(pairs)


def test_the_mean_of_the_true_numbers_has_an_r2_of_zero() -> None:
    metrics, _ = linear_models.score_values(["1", "2", "6"], ["3.0"] * 3)
    assert metrics == pytest.approx({"rmse": (14 / 3) ** 0.5, "mae": 2.0, "r2": 0.0, "spearman": 0.0})
