"""The claim attention-locality: its verdict on made-up statistics, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch.attention_locality import DECODER, ENCODER, TRAINED, AttentionLocality
from glasshouse.claims.from_scratch.layer_attention import COLUMN, DISTANCE, ENTROPY, FIRST, ITSELF, PREVIOUS, UNIFORM
from glasshouse.results.claim import REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome

AS_CLAIMED = {
    (ENCODER, "1", DISTANCE): 4.0,
    (ENCODER, UNIFORM, DISTANCE): 10.0,
    (ENCODER, "1", ENTROPY): 2.8,
    (ENCODER, "4", ENTROPY): 2.0,
    (DECODER, "1", PREVIOUS): 0.4,
    (DECODER, "1", ITSELF): 0.1,
    (DECODER, "1", FIRST): 0.1,
    (DECODER, "1", ENTROPY): 1.5,
    (DECODER, "4", ENTROPY): 2.5,
    (DECODER, "4", COLUMN): 0.4,
    (DECODER, UNIFORM, COLUMN): 0.07,
}


def values(changes):
    table = {**AS_CLAIMED, **changes}
    return {
        f"{model}/{TRAINED}/{layer}/{name}": close_values(value, 0.01, shift=index)
        for index, ((model, layer, name), value) in enumerate(table.items())
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({(ENCODER, "1", DISTANCE): 12.0}, REFUTED),
        ({(ENCODER, "1", DISTANCE): 9.5}, TOO_SMALL),
        ({(DECODER, "1", FIRST): 0.6}, REFUTED),
        ({(DECODER, "4", ENTROPY): 1.0}, REFUTED),
    ],
)
def test_every_pattern_of_the_heat_maps_must_hold(changes, verdict):
    assert judge(AttentionLocality, values(changes)).verdict == verdict


def test_the_word_of_the_heat_map_does_not_decide():
    finding = judge(AttentionLocality, {**values({}), "word": dict.fromkeys(range(16), 0.0)})
    assert finding.verdict == UPHELD
    assert outcome(finding, "'unshakable' draws most in most trainings") == REFUTED


@pytest.mark.slow
def test_a_quick_run_measures_everything(speeches):
    trial = trials.try_claim("attention-locality", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(AttentionLocality.quantities)
    assert trial.measured.series[f"{ENCODER}/{TRAINED}/{UNIFORM}/{ENTROPY}"].values[0] > 0
