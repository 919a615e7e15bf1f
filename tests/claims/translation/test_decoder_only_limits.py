"""The claim decoder-only-limits: its verdict on made-up values, ratios of costs, fair arms, and a quick run."""

import pytest
import torch

from glasshouse import models
from glasshouse.claims import step_timing, trials
from glasshouse.claims.translation import decoder_only_limits
from glasshouse.claims.translation.decoder_only_limits import (
    ARMS,
    BY_COST,
    BY_QUALITY,
    DECODER_ONLY,
    ENCODER_DECODER,
    KINDS,
    LONGEST,
    SHORTEST,
    WORDS,
    DecoderOnlyLimits,
    arm_name,
)
from glasshouse.data.sources import pig_latin
from glasshouse.models import parameter_counts
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Series
from glasshouse.runs import resolve_spec
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(loss=0.9, chrf=60.0, short_gap=0.01, growing=0.0, more=0.0, noise=0.001):
    """The decoder's loss and chrF at the longest sources; the encoder-decoder has 0.5 and 80."""
    return {
        f"test.loss/{LONGEST}/{ENCODER_DECODER}": close_values(0.5, noise),
        f"test.loss/{LONGEST}/{DECODER_ONLY}": close_values(loss, noise, shift=2),
        f"test.chrf/{LONGEST}/{ENCODER_DECODER}": close_values(80, noise),
        f"test.chrf/{LONGEST}/{DECODER_ONLY}": close_values(chrf, noise, shift=2),
        f"gap/{SHORTEST}": close_values(short_gap, noise),
        f"gap/{LONGEST}": close_values(loss - 0.5, noise, shift=3),
        "flops-not-more": dict.fromkeys(WORDS, more),
        "flops-not-growing": {LONGEST: growing},
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"loss": 0.3, "chrf": 90.0, "growing": 1.0}, REFUTED),
        ({"growing": 1.0}, DEPENDS),  # worse, but not ever dearer
        ({"short_gap": 0.6}, DEPENDS),  # worse, but most of all on short sources
        ({"loss": 0.51, "chrf": 79.9, "short_gap": 0.0, "more": 1.0}, DEPENDS),
        ({"noise": 5.0}, UNDECIDED),
    ],
)
def test_the_decoder_must_become_worse_and_dearer(changes, verdict):
    assert judge(DecoderOnlyLimits, values(**changes)).verdict == verdict


def test_quality_and_cost_are_judged_apart():
    finding = judge(DecoderOnlyLimits, values(loss=0.51, chrf=79.9, short_gap=0.0))
    assert dict(finding.by_setting) == {BY_QUALITY: TOO_SMALL, BY_COST: UPHELD}
    again = judge(DecoderOnlyLimits, {**values(), "read-again": dict.fromkeys(range(8), 3.0)})
    assert again.verdict == UPHELD
    assert outcome(again, "repaired: with a cache the decoder reads no source token twice") == REFUTED


def test_ratios_of_flops_and_where_they_do_not_support_the_claim():
    forward = dict.fromkeys(ARMS, 100.0) | {arm_name(DECODER_ONLY, 1): 200.0, arm_name(DECODER_ONLY, 8): 209.0}
    ratios = decoder_only_limits.flops_ratios(forward)
    assert ratios["flops/8"].values == {0: 2.09}
    assert ratios["flops-not-more"].values == {1: 0.0, 2: 1.0, 4: 1.0, 8: 0.0}
    assert ratios["flops-not-growing"].values == {8: 1.0}, "4.5 % is less than 5 %"
    grown = decoder_only_limits.flops_ratios(forward | {arm_name(DECODER_ONLY, 8): 211.0})
    assert grown["flops-not-growing"].values == {8: 0.0}


def test_times_and_losses_are_compared_unit_by_unit():
    seconds = {arm: [1.0, 2.0] for arm in ARMS} | {arm_name(DECODER_ONLY, 4): [3.0, 4.0], step_timing.AGAIN: [1.5, 2.0]}
    ratios = decoder_only_limits.time_ratios(seconds)
    assert ratios["time/4"].values == {0: 3.0, 1: 2.0}
    assert ratios["time/again"].values == {0: 1.5, 1: 1.0}
    assert decoder_only_limits.difference(Series({1: 3.0, 2: 5.0}), Series({2: 1.0})).values == {2: 4.0}


def test_the_arms_of_a_length_have_equal_parameters_and_read_the_same_words_without_truncation():
    letters = pig_latin.LONGEST_IN_PHRASES
    for words in WORDS:
        specs = [resolve_spec.spec_of(*ARMS[arm_name(kind, words)]) for kind in KINDS]
        with torch.device("meta"):
            built = [models.assemble(spec.model, 30, spec.data.context) for spec in specs]
        counts = [parameter_counts.parameters(model) for model in built]
        assert counts[1] == pytest.approx(counts[0], rel=0.01)
        assert {spec.training.batch * words for spec in specs} == {decoder_only_limits.WORDS_PER_STEP}
        for spec, source_and_target in zip(specs, (1, 2), strict=True):
            assert spec.data.context == source_and_target * ((letters + 3) * words + (words - 1) + 1)


@pytest.mark.slow
def test_a_quick_run_measures_everything(few_phrases):
    trial = trials.try_claim("decoder-only-limits", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(DecoderOnlyLimits.quantities)
    loss = {kind: series[f"test.loss/8/{kind}"].values[1] for kind in KINDS}
    assert series["gap/8"].values[1] == pytest.approx(loss[DECODER_ONLY] - loss[ENCODER_DECODER])
    assert series["read-again"].values == {0: 0.0, 1: 0.0}
