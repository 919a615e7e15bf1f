"""The claim modality: its verdict on made-up values, fair arms, and a quick run."""

import pytest
import torch

from glasshouse import models
from glasshouse.claims import trials
from glasshouse.claims.translation.modality import (
    ARMS,
    BEHIND,
    ENCODER_DECODER,
    OUTRIGHT,
    PREFIX,
    UNSEEN,
    WHOLE_PREFIX,
    Modality,
    adequacy,
)
from glasshouse.models import parameter_counts
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from glasshouse.runs import resolve_spec
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(prefix=0.3, noise=0.001):
    """The adequacy of the decoder; the encoder-decoder has 0.9, and a model without the picture 0.3."""
    return {
        adequacy(ENCODER_DECODER): close_values(0.9, noise),
        adequacy(PREFIX): close_values(prefix, noise, shift=2),
        adequacy(UNSEEN): close_values(0.3, noise, shift=3),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"prefix": 0.95}, REFUTED),
        ({"prefix": 0.6}, DEPENDS),  # it falls behind, but sees the picture
        ({"prefix": 0.895}, DEPENDS),
        ({"noise": 2.0}, UNDECIDED),
    ],
)
def test_the_decoder_must_fall_behind_and_fail_outright(changes, verdict):
    assert judge(Modality, values(**changes)).verdict == verdict


def test_both_senses_of_failing_are_judged_apart():
    assert dict(judge(Modality, values(prefix=0.895)).by_setting) == {BEHIND: TOO_SMALL, OUTRIGHT: REFUTED}
    beside = {adequacy(WHOLE_PREFIX): close_values(0.7, shift=1), "constant": close_values(0.2)}
    finding = judge(Modality, {**values(), **beside})
    assert finding.verdict == UPHELD
    assert outcome(finding, "repaired: the decoder is more adequate if patches see each other") == UPHELD
    assert outcome(finding, "repaired: such a decoder is as adequate as the encoder-decoder") == REFUTED
    assert outcome(finding, "control: without the picture, a model is no better than one constant caption") == REFUTED


def test_all_arms_have_equal_parameters_and_steps_and_only_one_is_without_pictures():
    specs = {arm: resolve_spec.spec_of(*recipe) for arm, (recipe, _) in ARMS.items()}
    with torch.device("meta"):
        counts = [parameter_counts.parameters(models.assemble(spec.model, 60, 20)) for spec in specs.values()]
    assert counts == pytest.approx([counts[0]] * len(ARMS), rel=0.01)
    assert len({spec.training for spec in specs.values()}) == 1
    assert [arm for arm, spec in specs.items() if spec.data.source == "scenes-unseen"] == [UNSEEN]
    assert specs[UNSEEN].model == specs[PREFIX].model != specs[WHOLE_PREFIX].model


@pytest.mark.slow
def test_a_quick_run_measures_everything(few_scenes):
    trial = trials.try_claim("modality", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(Modality.quantities)
    assert len(series[adequacy(PREFIX)].items[0]) == 12
    assert 0 <= series["right/unseen"].values[0] <= series[adequacy(UNSEEN)].values[0] < 0.6, "hardly trained"
    assert {name.partition("/")[0] for name in trial.measured.curves} == {"objects"}
