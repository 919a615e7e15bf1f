"""The claim pretraining-domain: its parts on made-up values, the common tokenizer, and a quick run from end to end."""

import pytest

from glasshouse import tokenizers
from glasshouse.claims import trials
from glasshouse.claims.pretraining import pretraining_domain
from glasshouse.claims.pretraining.arithmetic import RANDOM_FROZEN, SCRATCH, SETTINGS
from glasshouse.claims.pretraining.pretraining_domain import (
    ARITHMETIC,
    ARITHMETIC_FROZEN,
    COURSE,
    TWEETS,
    TWEETS_FROZEN,
    PretrainingDomain,
)
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UPHELD
from glasshouse.tokenizers.base import END_OF_TEXT
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(numbers=0.93, tweets=0.90, tuned_tweets=None, frozen=0.866, tweets_frozen=0.773):
    means = {
        ARITHMETIC: numbers,
        TWEETS: tweets,
        SCRATCH: 0.91,
        ARITHMETIC_FROZEN: frozen,
        TWEETS_FROZEN: tweets_frozen,
        RANDOM_FROZEN: 0.81,
    }
    series = {}
    for setting, ways in COURSE.ways.items():
        for shift, way in enumerate(ways):
            mean = tuned_tweets if (setting, way) == ("tuned", TWEETS) and tuned_tweets else means[way]
            series[COURSE.quantity(setting, way)] = close_values(mean, 0.01, shift)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"tweets": 0.97}, REFUTED),
        ({"tweets": 0.935}, TOO_SMALL),  # less than one of 160 expressions
        ({"tuned_tweets": 0.93}, DEPENDS),
        ({"frozen": 0.7}, UPHELD),  # frozen encoders are shown beside
    ],
)
def test_arithmetic_must_beat_tweets_after_fine_tuning(changes, verdict):
    assert judge(PretrainingDomain, values(**changes)).verdict == verdict


def test_frozen_encoders_and_gains_over_none_are_judged_beside_the_verdict():
    finding, where = judge(PretrainingDomain, values(tweets=0.908)), SETTINGS["tuned"]
    assert outcome(finding, "with frozen encoders, arithmetic beats tweets", where) == UPHELD
    assert outcome(finding, "frozen, pretraining on tweets beats random weights", where) == REFUTED
    assert outcome(finding, "pretraining on arithmetic beats none", where) == UPHELD
    assert outcome(finding, "pretraining on tweets beats none", where) == TOO_SMALL


def test_all_encoders_have_one_tokenizer_of_equal_amounts_of_both_texts(tweets, tmp_path):
    chunks = list(pretraining_domain.equal_amounts("course-arithmetic-text", "tweets"))
    texts = chunks[1::2]
    assert set(chunks[::2]) == {END_OF_TEXT}
    numbers = sum(len(text) for text in texts if " is " in text or "gives" in text or "of " in text)
    others = sum(map(len, texts)) - numbers
    assert 0.8 < numbers / others < 1.25
    path = tmp_path / "tokenizer.json"
    pretraining_domain.write_tokenizer(path, "course-arithmetic-text", "tweets")
    written = path.read_bytes()
    tokenizer = tokenizers.load(path)
    assert tokenizer.vocabulary == pretraining_domain.VOCABULARY
    assert tokenizer.mask is not None
    pretraining_domain.write_tokenizer(path, "tweets")
    assert path.read_bytes() == written, "a tokenizer that exists is kept"
    pretraining, *_ = COURSE.plans
    assert all("data.tokenizer_file={tokenizer}" in words for words in pretraining.recipes.values())


@pytest.mark.slow
def test_a_quick_run_fine_tunes_from_both_texts(tweets):
    trial = trials.try_claim("pretraining-domain", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    for way in (ARITHMETIC, TWEETS, SCRATCH, ARITHMETIC_FROZEN, TWEETS_FROZEN, RANDOM_FROZEN):
        assert {len(row) for row in series[COURSE.quantity("tuned", way)].items.values()} == {160}
    assert any("fine-tuning-course-recipe" in what for what, _ in trial.measured.facts)
