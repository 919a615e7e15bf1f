"""The control of the claims about attention: what a sound trial answers on made-up values, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.attention.controls import LARGE_EFFECT, ONE_CHARACTER, SMALL_EFFECT, AttentionControl
from glasshouse.results.claim import REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(again=1.7, planted=LARGE_EFFECT, trigram=2.0, one_character=2.4):
    return {
        "first": close_values(1.7),
        "again": close_values(again, shift=3),
        "large": close_values(again + planted, shift=3),
        "small": close_values(again + SMALL_EFFECT, shift=3),
        "ngram/2": dict.fromkeys(range(8), 2.4),
        "ngram/3": dict.fromkeys(range(8), trigram),
        ONE_CHARACTER: close_values(one_character, shift=2),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"again": 1.75}, REFUTED),  # two trainings of one model differ
        ({"planted": 0.0}, TOO_SMALL),  # the planted effect is not found
        ({"trigram": 1.5}, REFUTED),
        ({"one_character": 1.6}, REFUTED),
    ],
)
def test_a_sound_trial_gives_the_known_answers(changes, verdict):
    assert judge(AttentionControl, values(**changes)).verdict == verdict


@pytest.mark.slow
def test_a_quick_run_pairs_both_trainings_and_plants_the_effects():
    trial = trials.try_claim("attention-control", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(AttentionControl.quantities)
    assert set(series["first"].values) == set(series["again"].values) == {0, 1}
    assert series["first"].values != series["again"].values
    for key, effect in (("large", LARGE_EFFECT), ("small", SMALL_EFFECT)):
        assert series[key].values[1] == pytest.approx(series["again"].values[1] + effect)
