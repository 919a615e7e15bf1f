"""The claim debate: its measures, its verdict on made-up values, and a quick run of real debates."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.language_models.debate import (
    DENIED,
    DENIED_CONTROL,
    EMPTY,
    LOOPS,
    MEASURES,
    MODELS,
    OFF_TOPIC,
    REPEATED,
    REPEATED_CONTROL,
    REPEATED_UNSEEN,
    SIZES,
    STORIES,
    TOPICS,
    DebateClaim,
    key,
    measures_of,
)
from glasshouse.llms.debate_rounds import SIDES, DebatePoint, Turn
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(noise=0.001, **changed):
    """Every measure is 0.5 and its control 0.1, but for the changed ones."""
    means = {key(measure, model): 0.5 for measure in (REPEATED, DENIED) for model in SIZES}
    means |= {key(measure, model): 0.1 for measure in (REPEATED_CONTROL, DENIED_CONTROL) for model in SIZES}
    return {name: close_values(mean, noise, shift) for shift, (name, mean) in enumerate({**means, **changed}.items())}


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, UPHELD),
        ({key(REPEATED, "small"): 0.12}, TOO_SMALL),
        ({key(DENIED, "large"): 0.0}, REFUTED),
        ({"noise": 4.0}, UNDECIDED),
    ],
)
def test_every_model_must_repeat_and_contradict_itself(changed, verdict):
    assert judge(DebateClaim, values(**changed)).verdict == verdict


def test_the_published_model_decides_nothing():
    calm = {key(measure, STORIES): 0.1 for measure in (REPEATED, REPEATED_CONTROL, DENIED, DENIED_CONTROL)}
    finding = judge(DebateClaim, values(**calm))
    assert finding.verdict == UPHELD
    assert outcome(finding, "stories260K: it repeats itself") == TOO_SMALL


def debate(topic, *texts):
    """Points for and against in turn, two of each side."""
    turns = [Turn(topic, 0.7, 1, number, side, "model") for number in (1, 2) for side in SIDES]
    return [DebatePoint(turn, text, "end") for turn, text in zip(turns, texts, strict=True)]


def test_measures_and_their_controls():
    apart = ("one two three four", "five six seven eight", "nine ten eleven twelve", "")
    same = ("the sea is very blue", "the hills are steep", "the sea is very blue", "the hills are steep")
    denying = ("Roads are safe at night.", "Roads are not safe at night.", "Birds sing.", "Fish swim.")
    quiet = [debate(TOPICS[0], *apart), debate(TOPICS[0], *apart)]
    found = measures_of([[debate(TOPICS[0], *same), debate(TOPICS[0], *apart)], [debate(TOPICS[1], *denying)] * 2])
    calm = measures_of([quiet, [debate(TOPICS[1], *apart)] * 2])
    assert found[REPEATED] > calm[REPEATED] == 0
    assert found[DENIED] > found[DENIED_CONTROL] == 0
    assert calm[REPEATED_CONTROL] == pytest.approx(3 / 8), "the same texts about both topics: one of four points of a side"
    assert calm[REPEATED_UNSEEN] > 0
    assert calm[EMPTY] == pytest.approx(1 / 4)
    assert calm[OFF_TOPIC] == 1
    assert calm[LOOPS] == 0


@pytest.mark.slow
def test_a_quick_run_holds_debates():
    series = trials.try_claim("debate", quick=True, device="cpu").trials[-1].measured.series
    models = {name.rpartition("/")[2] for name in series}
    assert set(SIZES) <= models <= set(MODELS)
    assert set(series) == {key(measure, model) for measure in MEASURES for model in models}
    assert all(0 <= value <= 1 for found in series.values() for value in found.values.values())
