"""The claim features: its verdict on made-up values, and a quick run from end to end."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining.features import ARITHMETIC, COMPARISONS, EMOTION, FrozenFeatures
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome

CONTROL = "control: with shuffled labels, features do not beat the commonest class"


def values(comparison=ARITHMETIC, full=0.9, regression=0.9, svm=0.9, untrained=0.8, pairs=0.8, shuffled=0.7):
    """Made-up accuracies on one data set."""
    means = {
        "full": full,
        "pretrained/regression": regression,
        "pretrained/svm": svm,
        "random/regression": untrained,
        "pairs/regression": pairs,
        "majority": 0.7,
        "shuffled": shuffled,
    }
    return {comparison.quantity(name): close_values(mean, 0.01, shift) for shift, (name, mean) in enumerate(means.items())}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"full": 0.95}, REFUTED),  # fine-tuning is better by more than the tolerance
        ({"full": 0.91}, UPHELD),
        ({"svm": 0.85}, REFUTED),
        ({"untrained": 0.95}, REFUTED),
        ({"untrained": 0.9}, TOO_SMALL),  # pretraining adds nothing
        ({"pairs": 0.93}, REFUTED),
    ],
)
def test_features_must_match_fine_tuning_and_beat_words_and_untrained_features(changes, verdict):
    both = {**values(ARITHMETIC, **changes), **values(EMOTION, **changes)}
    assert judge(FrozenFeatures, both).verdict == verdict


def test_the_verdict_may_depend_on_the_task():
    assert judge(FrozenFeatures, {**values(ARITHMETIC, full=0.95), **values(EMOTION)}).verdict == DEPENDS


def test_one_task_alone_decides_nothing():
    assert judge(FrozenFeatures, values(ARITHMETIC)).verdict == UNDECIDED


def test_shuffled_labels_are_a_control_beside_the_verdict():
    both = {**values(ARITHMETIC, shuffled=0.8), **values(EMOTION)}
    finding = judge(FrozenFeatures, both)
    assert finding.verdict == UPHELD
    assert outcome(finding, CONTROL, ARITHMETIC.label) == REFUTED
    assert outcome(finding, CONTROL, EMOTION.label) == UPHELD


def test_every_line_of_the_figures_ends_at_all_labels():
    for comparison, figure in zip(COMPARISONS, FrozenFeatures.figures, strict=True):
        assert {max(line) for line in figure.lines.values()} == {float(comparison.labels)}
        assert {key for line in figure.lines.values() for key in line.values()} <= set(FrozenFeatures.quantities)


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity_of_the_courses_data(course_files):
    trial = trials.try_claim("features", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(ARITHMETIC.quantities)
    assert {len(row) for row in series["course/pretrained/svm"].items.values()} == {160}
    assert set(series["course/full"].values) == set(series["course/majority"].values) == {0, 1}
    assert series["course/majority"].values[0] == pytest.approx(0.7625)
    assert series["course/majority/balanced"].values[0] == pytest.approx(1 / 3)
    assert series["course/pairs/regression"].values[0] > 0.9 > series["course/words/regression"].values[0]
    assert series["course/pretrained/regression/64"].values[0] != series["course/pretrained/regression/64"].values[1]
