"""The claim debate: its verdict on made-up values, and a quick run of real debates."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.language_models.debate import COMPARED, MODELS, SIZES, STORIES, DebateClaim, key
from glasshouse.llms.debate_measures import CONTRADICTION, REPETITION
from glasshouse.pages.claim_content import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(noise=0.001, **changed):
    """Every measure is 0.5 and its control 0.1, but for the changed ones."""
    means = {
        key(measure, model, control): 0.1 if control else 0.5
        for measure in COMPARED
        for control in (0, 1)
        for model in SIZES
    }
    return {name: close_values(mean, noise, shift) for shift, (name, mean) in enumerate({**means, **changed}.items())}


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, UPHELD),
        ({key(REPETITION, "small"): 0.12}, TOO_SMALL),
        ({key(CONTRADICTION, "large"): 0.0}, REFUTED),
        ({"noise": 4.0}, UNDECIDED),
    ],
)
def test_every_model_must_repeat_and_contradict_itself(changed, verdict):
    assert judge(DebateClaim, values(**changed)).verdict == verdict


def test_the_published_model_decides_nothing():
    calm = {key(measure, STORIES, control): 0.1 for measure in COMPARED for control in (False, True)}
    finding = judge(DebateClaim, values(**calm))
    assert finding.verdict == UPHELD
    assert outcome(finding, "stories260K: it repeats itself") == TOO_SMALL


@pytest.mark.slow
def test_a_quick_run_holds_debates():
    series = trials.try_claim("debate", quick=True, device="cpu").trials[-1].measured.series
    models = {name.rpartition("/")[2] for name in series}
    assert set(SIZES) <= models <= set(MODELS)
    assert {name for name in DebateClaim.quantities if name.rpartition("/")[2] in models} == set(series)
    assert all(0 <= value <= 1 for found in series.values() for value in found.values.values())
