"""The claim speech-lm: its parts on made-up perplexities, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch.speech_lm import REPORTED, WIDE, SpeechLM
from glasshouse.results.claim import REFUTED, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ({}, UPHELD),  # the same perplexities again
        ({"train": 0.9, "test-obama": 1.015}, UPHELD),  # within the margin of 2 %
        ({"test-obama": 1.02}, UNDECIDED),
        ({"test-w-bush": 1.05}, REFUTED),
    ],
)
def test_every_perplexity_must_be_as_low_as_reported(factors, verdict):
    values = {
        f"{WIDE}/{text}": close_values(figure * factors.get(text, 1.0), 1.0) for text, figure in REPORTED[WIDE].items()
    }
    assert judge(SpeechLM, values).verdict == verdict


def test_the_smaller_decoder_and_a_trigram_model_decide_nothing():
    values = {f"{WIDE}/{text}": close_values(figure, 1.0) for text, figure in REPORTED[WIDE].items()}
    values |= {"100/test-obama": close_values(500.0), "trigram/test-obama": close_values(200.0)}
    finding = judge(SpeechLM, values)
    assert outcome(finding, "as low as reported on Obama, feed-forward 100") == REFUTED
    assert outcome(finding, "lower than a trigram model on Obama") == REFUTED
    assert finding.verdict == UPHELD


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity(speeches):
    trial = trials.try_claim("speech-lm", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(SpeechLM.quantities)
    assert series["trigram/test-obama"].values.keys() == series["256/test-obama"].values.keys() == {0, 1}
    assert len(set(series["trigram/test-obama"].values.values())) == 1
    assert series["256/overlap"].values != series["256/test-obama"].values
