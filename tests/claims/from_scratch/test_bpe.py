"""The claim bpe: its parts on made-up values, the counts of changed texts and unknown tokens, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch import bpe
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from glasshouse.tokenizers.words import Words
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdict(changed=0, disagreements=0, noise=0.001, **bits):
    values = {"changed": {0: float(changed)}, "bits/byte-pair": close_values(1.60, noise)}
    if disagreements is not None:
        values["disagreements"] = {0: float(disagreements)}
    for arm in bpe.OPPONENTS:
        values[f"bits/{arm}"] = close_values(bits.get(arm.replace("-", "_"), 1.90), noise, shift=3)
    return judge(bpe.BPE, values).verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, UPHELD),
        ({"changed": 1}, REFUTED),
        ({"disagreements": 2}, REFUTED),
        ({"disagreements": None}, UNDECIDED),  # the package tokenizers is not installed
        ({"characters": 1.50}, REFUTED),
        ({"characters_wide": 1.50}, REFUTED),
        ({"characters_long": 1.603}, TOO_SMALL),
        ({"noise": 3.0}, UNDECIDED),
    ],
)
def test_the_tokenizer_must_be_exact_and_better_than_every_model_over_characters(values, expected):
    assert verdict(**values) == expected


def test_changed_texts_and_unknown_tokens_are_counted():
    texts = list(bpe.random_texts(20))
    assert texts == list(bpe.random_texts(20))
    words = Words.train(["a few words"], 16)
    assert bpe.count_changed_texts(words, ["a few", "words  apart", *texts[:5]]) >= 1
    assert bpe.unknown_share(words, ["a few others"]) == pytest.approx(1 / 3)
    assert bpe.bytes_per_token(words, ["a few"]) == pytest.approx(2.5)


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity():
    trial = trials.try_claim("bpe", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(bpe.BPE.quantities) - set(series) <= {"disagreements"}  # without the package tokenizers
    assert series["changed"].values == {0: 0.0}
    assert series["bytes/byte pairs"].values[0] > series["bytes/characters"].values[0]
