"""Logistic regression over sparse features: scikit-learn's weights, the choice of a penalty, logits of unseen texts."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from glasshouse.tasks import ngram_regression
from glasshouse.tasks.ngram_regression import FOLDS, LabelledRows

CLASSES = 3


def rows(count, seed=0):
    """Texts whose class is the largest of three features; the fourth says nothing."""
    features = np.random.default_rng(seed).normal(size=(count, 4)).round(2)
    return LabelledRows(csr_matrix(features), features[:, :CLASSES].argmax(1))


def test_the_weights_are_those_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(ngram_regression, "ITERATIONS", 500)
    train = rows(60)
    model, _ = ngram_regression.fit(train, train[np.zeros(0, int)], CLASSES)
    peer = LogisticRegression(C=ngram_regression.DEFAULT_INVERSE_PENALTY, tol=1e-8, max_iter=1000)
    peer.fit(train.features, train.labels_N)
    np.testing.assert_allclose(model.weights_KC, peer.coef_.T, rtol=0.02, atol=0.05)


def test_a_feature_that_no_training_text_has_gets_no_weight():
    train = rows(40)
    wider = LabelledRows(
        csr_matrix((train.features.data, train.features.indices * 2, train.features.indptr), (40, 9)), train.labels_N
    )
    model, _ = ngram_regression.fit(wider, wider[np.zeros(0, int)], CLASSES)
    assert model.weights_KC.shape == (9, CLASSES)
    assert not model.weights_KC[1::2].any()
    assert model.weights_KC[0].any()


def test_a_training_texts_logits_do_not_depend_on_its_own_class():
    train = rows(40)
    others = train.labels_N.copy()
    others[0] = (others[0] + 1) % CLASSES
    changed = LabelledRows(train.features, others)
    nothing = train[np.zeros(0, int)]
    (seen, out_of_fold), (seen_changed, out_of_fold_changed) = (
        ngram_regression.fit(given, nothing, CLASSES) for given in (train, changed)
    )
    assert not np.allclose(seen.logits(train.features)[0], seen_changed.logits(train.features)[0])
    np.testing.assert_array_equal(out_of_fold[::FOLDS], out_of_fold_changed[::FOLDS])
    assert not np.array_equal(out_of_fold[1], out_of_fold_changed[1])


@pytest.mark.parametrize("noise", [False, True])
def test_held_out_texts_choose_the_penalty(noise):
    """The penalty is strong if the labels are noise, and weak if they follow from the features."""
    train, held_out = rows(60), rows(60, seed=1)
    if noise:
        held_out = LabelledRows(held_out.features, np.random.default_rng(2).permutation(held_out.labels_N))
    chosen, _ = ngram_regression.fit(train, held_out, CLASSES)
    weakest = ngram_regression.INVERSE_PENALTIES[-1 if not noise else 0]
    assert np.abs(chosen.weights_KC).max() == pytest.approx(largest_weight(train, weakest), rel=0.15)


def largest_weight(train, inverse_penalty):
    peer = LogisticRegression(C=inverse_penalty, tol=1e-6, max_iter=1000).fit(train.features, train.labels_N)
    return np.abs(peer.coef_).max()
