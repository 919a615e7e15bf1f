"""The claim regularised-classifier: the choice of the dropout rate, and its rule on made-up accuracies."""

import math

import pytest

from glasshouse.claims.from_scratch import regularised_classifier
from tests.claims.example_values import close_values


def test_the_dropout_rate_has_the_highest_held_out_accuracy_at_the_end():
    curves = {0: [(131, 0.61), (262, 0.55)], 1: [(131, 0.60), (262, 0.57)], 2: []}
    assert regularised_classifier.last_values(curves) == {0: 0.55, 1: 0.57}
    held_out = {"0.0": {0: 0.55, 1: 0.57}, "0.2": {0: 0.60, 1: math.nan}, "0.3": {0: math.nan}, "0.4": {0: 0.6}}
    assert regularised_classifier.best_rate(held_out) == "0.2"


@pytest.mark.parametrize(
    ("test", "train", "verdict"),
    [
        (0.90, 0.99, "upheld"),
        (0.88, 0.93, "refuted"),  # the gap is smaller because training is worse; the test accuracy is the same
        (0.84, 0.90, "refuted"),
    ],
)
def test_regularisation_must_raise_the_accuracy_and_narrow_the_gap(test, train, verdict):
    differences = regularised_classifier.compare_arms(
        {"plain": close_values(0.88), "regularised": close_values(test, shift=3)},
        {"plain": close_values(0.997), "regularised": close_values(train, shift=5)},
    )
    assert regularised_classifier.helps(differences) == verdict
