"""The claim decoder-only-nmt: its verdict on made-up values, the sample sentence, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.translation import decoder_only_nmt
from glasshouse.claims.translation.decoder_only_nmt import ARMS, DECODER_ONLY, ENCODER_DECODER, DecoderOnlyNMT
from glasshouse.data.sources import pig_latin
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(reported=(0.3, 0.6), tuned=(0.3, 0.6)):
    """(test loss, words right) of the decoder alone; the encoder-decoder has 0.5 and 0.4."""
    series = {}
    for study, (loss, exact) in (("reported", reported), ("tuned", tuned)):
        series[f"{study}/test.loss/{ENCODER_DECODER}"] = close_values(0.5)
        series[f"{study}/test.loss/{DECODER_ONLY}"] = close_values(loss, shift=3)
        series[f"{study}/test.exact/{ENCODER_DECODER}"] = close_values(0.4)
        series[f"{study}/test.exact/{DECODER_ONLY}"] = close_values(exact, shift=3)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"reported": (0.3, 0.3), "tuned": (0.3, 0.3)}, REFUTED),  # the loss is lower, but fewer words are right
        ({"reported": (0.49, 0.6), "tuned": (0.49, 0.6)}, TOO_SMALL),
        ({"tuned": (0.51, 0.41)}, DEPENDS),
        ({"reported": (0.7, 0.2)}, DEPENDS),
    ],
)
def test_the_decoder_alone_must_be_better_by_loss_and_by_words_at_both_rates(changes, verdict):
    assert judge(DecoderOnlyNMT, values(**changes)).verdict == verdict


def test_correct_translations_of_the_sample_sentence_are_counted():
    right = pig_latin.translate(decoder_only_nmt.SENTENCE)
    assert right == "ethay airway onditioningcay isway orkingway"
    assert decoder_only_nmt.count_right({5: right, 6: "ethay"}).values == {5: 1.0, 6: 0.0}


@pytest.mark.slow
def test_a_quick_run_measures_everything_with_equal_parameters(word_lists):
    trial = trials.try_claim("decoder-only-nmt", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(DecoderOnlyNMT.quantities)
    assert len(trial.measured.series[f"tuned/test.exact/{DECODER_ONLY}"].items[0]) == 3
    counts = {
        what: int(text.partition(" ")[0].replace(",", "")) for what, text in trial.measured.facts if "parameters" in text
    }
    encoder_decoder, decoder = (counts[f"tuned, {arm}"] for arm in ARMS)
    assert decoder == pytest.approx(encoder_decoder, rel=0.1)
    assert counts["reported-sizes, decoder-only-128"] > counts["reported-sizes, encoder-decoder-64"]
