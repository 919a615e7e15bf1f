"""The claim speech-classifier: its parts on made-up accuracies, the choice of a rate, its opponents, and a quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch import speech_classifier
from glasshouse.claims.from_scratch.speech_classifier import SpeechClassifier
from glasshouse.data.sources.speeches import TEST_NEW
from glasshouse.results.claim import REFUTED, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


@pytest.mark.parametrize(
    ("accuracy", "noise", "verdict"),
    [
        (0.878, 0.01, UPHELD),  # an exact replication
        (0.870, 0.005, UPHELD),  # below by less than one percentage point
        (0.868, 0.05, UNDECIDED),
        (0.850, 0.01, REFUTED),
    ],
)
def test_the_reported_learning_rate_decides_on_the_whole_test_file(accuracy, noise, verdict):
    values = {"1e-3/test": close_values(accuracy, noise), "tuned/test": close_values(0.9), "2e-3/test": close_values(0.5)}
    finding = judge(SpeechClassifier, values)
    assert finding.verdict == verdict
    assert outcome(finding, "as accurate as reported, at the learning rate that is best on held-out segments") == UPHELD


def test_a_linear_model_that_is_as_accurate_is_shown_and_does_not_decide():
    finding = judge(SpeechClassifier, {"1e-3/test": close_values(0.88), "linear/test": close_values(0.9, shift=3)})
    assert finding.verdict == UPHELD
    assert outcome(finding, "more accurate than a linear model over words and word pairs on all test segments") == REFUTED


def test_the_best_setting_has_the_highest_mean_of_the_seeds_that_did_not_diverge():
    held_out = {"5e-4": {0: 0.55, 1: 0.57}, "1e-3": {0: 0.60, 1: math.nan}, "2e-3": {0: math.nan}, "4e-3": {0: 0.6}}
    assert speech_classifier.best_setting(held_out) == "1e-3"


def test_the_opponents_answer_every_segment(speeches):
    answers = speech_classifier.opponent_answers()
    assert len(answers["test"]["linear"]) > len(answers[TEST_NEW]["linear"]) > 0
    assert sum(answers["test"]["linear"]) > sum(answers["test"]["commonest"])
    new = len(answers[TEST_NEW]["linear"])
    assert answers["test"]["linear"][-new:] == answers[TEST_NEW]["linear"]  # the made-up new segments come last


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity(speeches):
    trial = trials.try_claim("speech-classifier", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(SpeechClassifier.quantities)
    for split in speech_classifier.SPLITS:
        lengths = {len(series[f"{arm}/{split}"].items[0]) for arm in ("1e-3", "linear", "commonest")}
        assert len(lengths) == 1
