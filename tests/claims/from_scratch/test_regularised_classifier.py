"""The claim regularised-classifier: its parts on made-up accuracies, the gap, and a quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.claim import Series
from glasshouse.claims.from_scratch import regularised_classifier
from glasshouse.claims.from_scratch.regularised_classifier import PLAIN, REGULARISED, SETTINGS, RegularisedClassifier
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Finding
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome

# Accuracy of the regularised classifier on new test segments and on training segments.
BETTER, SAME, WORSE = (0.60, 0.99), (0.55, 0.90), (0.50, 0.80)


def finding_on(noise: float = 0.01, **by_setting: tuple[float, float]) -> Finding:
    values = {}
    for setting, (accuracy, training) in by_setting.items():
        for arm, new, train, shift in ((PLAIN, 0.55, 0.997, 0), (REGULARISED, accuracy, training, 3)):
            values[f"{setting}/test-new/{arm}"] = close_values(new, noise, shift)
            values[f"{setting}/gap/{arm}"] = close_values(train - new, noise, shift)
            values[f"{setting}/test/{arm}"] = close_values(0.88, noise, shift)
    return judge(RegularisedClassifier, values)


@pytest.mark.parametrize(
    ("reported", "chosen", "noise", "verdict"),
    [
        (BETTER, BETTER, 0.01, UPHELD),
        (SAME, SAME, 0.01, TOO_SMALL),  # the gap is smaller because training is worse
        (WORSE, WORSE, 0.01, REFUTED),
        (WORSE, BETTER, 0.01, DEPENDS),
        (BETTER, BETTER, 0.5, UNDECIDED),
    ],
)
def test_the_accuracy_on_new_segments_must_rise_and_the_gap_narrow_at_both_rates(reported, chosen, noise, verdict):
    assert finding_on(noise, reported=reported, chosen=chosen).verdict == verdict


def test_the_whole_test_file_decides_nothing():
    finding = finding_on(reported=BETTER, chosen=BETTER)
    assert outcome(finding, "more accurate on all test segments", SETTINGS["reported"]) == TOO_SMALL
    assert finding.verdict == UPHELD


def test_the_gap_of_each_item_has_the_gap_of_the_seed_as_its_mean():
    test = Series({0: 0.5, 1: math.nan}, {0: (1.0, 0.0)})
    gap = regularised_classifier.gap_series({0: 0.9, 1: math.nan}, test)
    assert gap.values[0] == pytest.approx(0.4)
    assert math.isnan(gap.values[1])
    assert gap.items == {0: (pytest.approx(-0.1), pytest.approx(0.9))}
    assert regularised_classifier.gap_series({0: 0.9}, Series({0: 0.5})).items is None


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity(speeches):
    trial = trials.try_claim("regularised-classifier", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(RegularisedClassifier.quantities)
    assert {setting for setting, _ in trial.finding.by_setting} == set(SETTINGS.values())
