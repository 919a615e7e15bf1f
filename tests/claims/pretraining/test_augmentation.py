"""The claim augmentation: its verdict on made-up values, and a quick run from end to end."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining.augmentation import (
    COUNTS,
    FEATURES,
    FEW,
    JUDGED,
    PARAPHRASES,
    PLAIN_COPIES,
    REPLACEMENTS,
    SETTINGS,
    WORDS,
    ParaphrasesAsData,
    key,
)
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(kind, few=0.4, paraphrases=0.5, replacements=0.4, copies=0.4, noise=0.01, count=JUDGED):
    """Made-up accuracies of one classifier."""
    means = {FEW: few, PARAPHRASES: paraphrases, REPLACEMENTS: replacements, PLAIN_COPIES: copies}
    return {key(kind, name, count): close_values(mean, noise, shift) for shift, (name, mean) in enumerate(means.items())}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"paraphrases": 0.35}, REFUTED),
        ({"few": 0.5}, TOO_SMALL),
        ({"replacements": 0.5}, TOO_SMALL),  # any noise would do
        ({"replacements": 0.6}, REFUTED),
        ({"noise": 1.0}, UNDECIDED),
    ],
)
def test_paraphrases_must_help_and_help_more_than_random_words(changes, verdict):
    assert judge(ParaphrasesAsData, {**values(WORDS, **changes), **values(FEATURES, **changes)}).verdict == verdict


def test_the_verdict_may_depend_on_the_classifier_and_not_on_larger_numbers_of_labels():
    assert judge(ParaphrasesAsData, {**values(WORDS), **values(FEATURES, paraphrases=0.3)}).verdict == DEPENDS
    many = values(WORDS, paraphrases=0.3, count=COUNTS[-1])
    finding = judge(ParaphrasesAsData, {**values(WORDS), **values(FEATURES), **many})
    assert finding.verdict == UPHELD
    assert outcome(finding, f"paraphrases help, {COUNTS[-1]} labels per class", SETTINGS[WORDS]) == REFUTED


def test_plain_copies_are_a_control_beside_the_verdict():
    finding = judge(ParaphrasesAsData, {**values(WORDS, copies=0.45), **values(FEATURES)})
    name = f"control: plain copies change nothing, {JUDGED} labels per class"
    assert (outcome(finding, name, SETTINGS[WORDS]), outcome(finding, name, SETTINGS[FEATURES])) == (REFUTED, UPHELD)
    assert finding.verdict == UPHELD


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity(tweets):
    trial = trials.try_claim("augmentation", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(ParaphrasesAsData.quantities)
    rows = {name: series[name].items[0] for name in (key(WORDS, FEW, JUDGED), "words/all", "majority")}
    assert len({len(row) for row in rows.values()}) == 1
    few = {name: series[key(FEATURES, name, JUDGED)].items for name in (FEW, PARAPHRASES, REPLACEMENTS)}
    assert few[FEW] != few[PARAPHRASES] != few[REPLACEMENTS]
