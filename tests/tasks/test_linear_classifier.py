"""The linear classifier over sparse features: its two kinds of models, the choice of a penalty, logits of unseen texts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from glasshouse.tasks import linear_classifier
from glasshouse.tasks.linear_classifier import FOLDS, LabelledRows

CLASSES = 3


def rows(count, seed=0, exclusive=True):
    """Texts whose class is the largest of three features; the fourth says nothing. The same features are counts."""
    features = np.abs(np.random.default_rng(seed).normal(size=(count, 4)).round(2))
    largest = features[:, :CLASSES].argmax(1)
    truth = largest[:, None] == np.arange(CLASSES) if exclusive else features[:, :CLASSES] > 0.7
    weights = csr_matrix(features)
    return LabelledRows(hstack([weights, weights], format="csr"), truth.astype(float), np.ones(count), exclusive)


def nothing(train):
    return train[np.zeros(0, int)]


def test_the_regression_is_that_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(linear_classifier, "ITERATIONS", 500)
    monkeypatch.setattr(linear_classifier, "TOLERANCE", 1e-12)
    train = rows(60).columns(0, 4)
    model = linear_classifier._regression(train, 10.0)
    peer = LogisticRegression(C=10.0, tol=1e-8, max_iter=1000).fit(train.features, train.truth_NC.argmax(1))
    np.testing.assert_allclose(model.weights_KC, peer.coef_.T, rtol=0.01, atol=0.01)


def test_the_regression_of_classes_that_do_not_exclude_each_other_is_one_for_each(monkeypatch):
    monkeypatch.setattr(linear_classifier, "ITERATIONS", 500)
    monkeypatch.setattr(linear_classifier, "TOLERANCE", 1e-12)
    train = rows(60, exclusive=False).columns(0, 4)
    model = linear_classifier._regression(train, 10.0)
    for number in range(CLASSES):
        peer = LogisticRegression(C=10.0, tol=1e-8, max_iter=1000).fit(train.features, train.truth_NC[:, number])
        np.testing.assert_allclose(model.weights_KC[:, number], peer.coef_[0], rtol=0.01, atol=0.01)


def test_naive_bayes_is_that_of_scikit_learn(monkeypatch):
    train = rows(60).columns(0, 4)
    model = linear_classifier._naive_bayes(train)
    peer = MultinomialNB(alpha=linear_classifier.SMOOTHING).fit(train.features, train.truth_NC.argmax(1))
    ours = model.weights_KC - model.weights_KC[:, :1]
    np.testing.assert_allclose(ours, (peer.feature_log_prob_ - peer.feature_log_prob_[:1]).T, atol=1e-9)


def test_naive_bayes_of_classes_that_do_not_exclude_each_other_is_one_for_each():
    train = rows(60, exclusive=False).columns(0, 4)
    model = linear_classifier._naive_bayes(train)
    peer = MultinomialNB(alpha=linear_classifier.SMOOTHING).fit(train.features, train.truth_NC[:, 1])
    np.testing.assert_allclose(model.weights_KC[:, 1], peer.feature_log_prob_[1] - peer.feature_log_prob_[0], atol=1e-9)


def test_a_feature_that_no_training_text_has_gets_no_weight():
    train = rows(40)
    features = train.features
    wider = replace(train, features=csr_matrix((features.data, features.indices * 2, features.indptr), (40, 16)))
    model, _ = linear_classifier.fit(wider, nothing(wider))
    assert model.weights_KC.shape == (16, CLASSES)
    assert not model.weights_KC[1::2].any()
    assert model.weights_KC[0].any()


def test_a_training_texts_logits_do_not_depend_on_its_own_class(monkeypatch):
    monkeypatch.setattr(linear_classifier, "_factors", lambda rows, logits: np.full(len(logits), 0.5))
    train = rows(40)
    truth = train.truth_NC.copy()
    truth[0] = np.roll(truth[0], 1)
    changed = replace(train, truth_NC=truth)
    (seen, out_of_fold), (seen_changed, out_of_fold_changed) = (
        linear_classifier.fit(given, nothing(given)) for given in (train, changed)
    )
    assert not np.allclose(seen.logits(train.features)[0], seen_changed.logits(train.features)[0])
    np.testing.assert_array_equal(out_of_fold[::FOLDS], out_of_fold_changed[::FOLDS])
    assert not np.array_equal(out_of_fold[1], out_of_fold_changed[1])


def test_the_sum_of_the_models_has_a_lower_loss_than_each_of_them():
    train, held_out = rows(200), rows(200, seed=1)
    model, out_of_fold = linear_classifier.fit(train, held_out)
    stacked, _ = train.loss(out_of_fold)
    alone = [linear_classifier._regression(train.columns(0, 4), penalty) for penalty in (3.0, 10.0)]
    assert stacked < train.loss(np.zeros_like(out_of_fold))[0]
    assert held_out.loss(model.logits(held_out.features))[0] < 1.2 * min(
        held_out.loss(each.logits(held_out.columns(0, 4).features))[0] for each in alone
    )


def test_classes_that_are_told_apart_without_an_error_give_no_certainty():
    """Logits beyond all bounds would leave the network nothing to learn."""
    truth = np.eye(CLASSES)[np.arange(60) % CLASSES]
    weights = csr_matrix(truth)
    train = LabelledRows(hstack([weights, weights], format="csr"), truth, np.ones(60), True)
    _, out_of_fold = linear_classifier.fit(train, nothing(train))
    loss, _ = train.loss(out_of_fold)
    assert linear_classifier.LOGIT_PENALTY / 10 < loss < 100 * linear_classifier.LOGIT_PENALTY


def test_with_many_classes_naive_bayes_stands_alone(monkeypatch):
    monkeypatch.setattr(linear_classifier, "MAX_REGRESSION_CLASSES", CLASSES - 1)
    monkeypatch.setattr(linear_classifier, "_regression", None)
    train = rows(90)
    model, out_of_fold = linear_classifier.fit(train, rows(30, seed=1))
    assert (model.logits(train.features).argmax(1) == train.truth_NC.argmax(1)).mean() > 0.6
    assert out_of_fold.shape == (90, CLASSES)


@pytest.mark.parametrize("noise", [False, True])
def test_held_out_texts_choose_the_penalty(noise):
    """The penalty is strong if the labels are noise, and weak if they follow from the features."""
    train, held_out = rows(60).columns(0, 4), rows(60, seed=1).columns(0, 4)
    if noise:
        held_out = replace(held_out, truth_NC=np.random.default_rng(2).permutation(held_out.truth_NC))
    chosen = linear_classifier._best_penalty(train, held_out)
    assert chosen == linear_classifier.INVERSE_PENALTIES[0 if noise else -1]


def test_a_text_of_weight_two_counts_as_two_texts():
    train = rows(20)
    twice = train[np.r_[np.arange(20), 0]]
    weighted = replace(train, weights_N=np.r_[2.0, np.ones(19)])
    one, two = (linear_classifier._naive_bayes(given.columns(4, 8)) for given in (twice, weighted))
    np.testing.assert_allclose(one.weights_KC, two.weights_KC)
    one, two = (given.loss(np.zeros((len(given.weights_N), CLASSES)))[0] for given in (twice, weighted))
    assert one * 21 == pytest.approx(two * 20)
