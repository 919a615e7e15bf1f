"""The control of the claims about translation: what a sound trial answers on made-up values, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.translation.controls import LARGE_EFFECT, SMALL_EFFECT, TranslationControl
from glasshouse.results.claim import REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values, spread_values
from tests.claims.judging import judge


def values(again=0.5, planted=LARGE_EFFECT, trigram=2.0, way=0.2):
    return {
        "first": spread_values(0.5),
        "again": spread_values(again, shift=3),
        "large": spread_values(again + planted, shift=3),
        "small": spread_values(again + SMALL_EFFECT, shift=3),
        "narrow": spread_values(0.8),
        "narrow-again": spread_values(0.8, shift=3),
        "trigram": dict.fromkeys(range(8), trigram),
        "exact": close_values(0.5),
        "way": dict.fromkeys(range(8), way),
        "copy": dict.fromkeys(range(8), 0.0),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"again": 0.7}, REFUTED),  # two trainings of one translator differ
        ({"planted": 0.0}, TOO_SMALL),  # the planted effect is not found
        ({"trigram": 0.3}, REFUTED),
        ({"way": 0.9}, REFUTED),
    ],
)
def test_a_sound_trial_gives_the_known_answers(changes, verdict):
    assert judge(TranslationControl, values(**changes)).verdict == verdict


@pytest.mark.slow
def test_a_quick_run_pairs_both_trainings_and_plants_the_effects(word_lists):
    trial = trials.try_claim("translation-control", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(TranslationControl.quantities)
    assert set(series["first"].values) == set(series["again"].values) == {0, 1}
    assert series["first"].values != series["again"].values
    for key, effect in (("large", LARGE_EFFECT), ("small", SMALL_EFFECT)):
        assert series[key].values[1] == pytest.approx(series["again"].values[1] + effect)
