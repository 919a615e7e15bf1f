"""The claim unfreezing: its parts on made-up values, its settings on real recipes, and a quick run from end to end."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining import unfreezing
from glasshouse.claims.pretraining.arithmetic import FROZEN, FULL, GRADUAL, RANDOM_FROZEN
from glasshouse.claims.pretraining.unfreezing import COURSE, GENERATED, REFUSED, Unfreezing
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values, spread_values
from tests.claims.judging import judge


def values(full=0.93, gradual=0.925, frozen=0.82, random_frozen=0.81, refused=0.0, make=close_values, scale=0.01):
    series = {REFUSED: dict.fromkeys(range(5), refused)}
    means = {FULL: full, GRADUAL: gradual, FROZEN: frozen, RANDOM_FROZEN: random_frozen}
    for setting in COURSE.ways:
        for shift, (way, mean) in enumerate(means.items()):
            series[COURSE.quantity(setting, way)] = make(mean, scale, shift)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),  # worse by half a point, of two that are allowed
        ({"gradual": 0.88}, REFUTED),
        ({"frozen": 0.99}, REFUTED),
        ({"frozen": 0.925}, TOO_SMALL),
        ({"random_frozen": 0.99}, REFUTED),
        ({"refused": 1.0}, REFUTED),
        ({"gradual": 0.91, "make": spread_values, "scale": 2.0}, UNDECIDED),
    ],
)
def test_gradual_unfreezing_may_be_worse_by_less_than_two_points_and_must_beat_a_head(changes, verdict):
    assert judge(Unfreezing, values(**changes)).verdict == verdict


def test_settings_are_tried_on_a_model_and_a_refusal_is_reported():
    refusals, text = unfreezing.try_settings("presidents")
    assert refusals == 0
    assert "from the head down" in text
    refusals, text = unfreezing.try_settings("demo-lm")  # its head is tied to the embedding
    assert refusals == 1
    assert "the head refused" in text


@pytest.mark.slow
def test_a_quick_run_without_the_courses_files_measures_the_stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_DATA", str(tmp_path))
    trial = trials.try_claim("unfreezing", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert trial.verdict == UNDECIDED
    assert series[REFUSED].values == dict.fromkeys(range(5), 0.0)
    assert {len(row) for row in series[GENERATED.quantity("recipe", GRADUAL)].items.values()} == {160}
    assert not any(key.startswith("course/") for key in series)
