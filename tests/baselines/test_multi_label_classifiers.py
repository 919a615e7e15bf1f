"""Baselines of multi-label classification: every label is learned by itself, and sets may be empty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import field_baselines, multi_label_classifiers
from glasshouse.baselines.field_baselines import Examples
from glasshouse.metrics.metric import EXACT

SETS = st.sets(st.sampled_from("abc")).map(lambda names: "|".join(sorted(names)))


def test_labels_that_have_words_of_their_own_are_learned() -> None:
    rows = [("sun rain", "warm|wet"), ("sun", "warm"), ("rain", "wet"), ("nothing", "")] * 10
    texts, fields = ([row[side] for row in rows] for side in (0, 1))
    split = Examples(texts, fields, np.arange(len(rows)), len(rows))
    commonest, regression = (
        field_baselines.train(method, split, split, split, multi_label_classifiers.score_label_sets, (EXACT,))
        for method in multi_label_classifiers.METHODS
    )
    assert commonest.metrics["exact"] == 0.25
    assert regression.metrics == {"micro_f1": 1, "macro_f1": 1, "exact": 1}


def test_a_label_that_all_texts_have_is_predicted_for_all() -> None:
    split = Examples(["one", "two"] * 3, ["all|odd", "all"] * 3, np.arange(6), 6)
    predictor = multi_label_classifiers.one_versus_rest(split)(64.0)
    assert predictor(["one", "other"]) == ["all|odd", predictor(["other"])[0]]
    assert "all" in predictor(["other"])[0].split("|")


@given(st.lists(st.tuples(SETS, SETS), min_size=1, max_size=20))
def test_the_scores_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    from sklearn.metrics import f1_score

    truth, predictions = ([pair[side] for pair in pairs] for side in (0, 1))
    metrics, values = multi_label_classifiers.score_label_sets(truth, predictions)
    tables = [multi_label_classifiers.membership(side, "abc") for side in (truth, predictions)]
    if tables[0].any() or tables[1].any():
        assert metrics["micro_f1"] == pytest.approx(f1_score(*tables, average="micro", zero_division=0))
    assert metrics["exact"] == pytest.approx(float((tables[0] == tables[1]).all(1).mean()))
    assert values["exact"].mean() == pytest.approx(metrics["exact"])
