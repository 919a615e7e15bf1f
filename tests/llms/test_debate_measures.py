"""The measures of a debate: exact values on constructed transcripts."""

import math

import pytest

from glasshouse.llms.contradictions import NegationTest
from glasshouse.llms.debate_measures import (
    ACROSS_SIDES,
    ACROSS_TEMPERATURES,
    CONTRADICTION,
    DEFINITIONS,
    LOOPS,
    OFF_TOPIC,
    REPETITION,
    TOPIC_WORDS,
    ModelMeasures,
    measure,
)
from glasshouse.llms.debate_rounds import DebateOptions, DebatePoint
from tests.llms.scripted_models import TOPIC, points_of

DIFFERENT = ["one two three four", "five six seven eight", "nine ten eleven twelve"]


def measured(points: list[DebatePoint], models: tuple[str, ...] = ("a",), **options: object) -> list[ModelMeasures]:
    return measure(DebateOptions(TOPIC, models, **options), points, NegationTest(TOPIC))


def test_identical_points_have_repetition_one_and_disjoint_points_zero() -> None:
    same, other = measured(points_of("a", ["cars are fast today"] * 3) + points_of("b", DIFFERENT), ("a", "b"))
    assert same.measures[REPETITION].value.value == 1
    assert other.measures[REPETITION].value.value == 0
    assert same.measures[REPETITION].value.count == 3
    # Three points are too few for an interval.
    assert math.isnan(same.measures[REPETITION].value.low)


def test_repetition_compares_points_of_one_side_and_the_control_is_another_topic() -> None:
    points = points_of("a", DIFFERENT, DIFFERENT)
    control = points_of("a", ["one two three four"], topic="school uniforms")
    (found,) = measured([*points, *control], control_topic="school uniforms")
    assert found.measures[REPETITION].value.value == 0
    # Of nine pairs of a point for and a point against, three are the same text.
    assert found.measures[ACROSS_SIDES].value.value == pytest.approx(3 / 9)
    # Two of the six points, paired with the one control point, are that text.
    assert found.measures[REPETITION].control.value == pytest.approx(2 / 6)
    assert found.points == 6


def test_twelve_points_have_an_interval_that_holds_the_mean() -> None:
    texts = [f"self driving cars {a} {b} {c}" for a, b, c in zip("abcaba", "dedfde", "ghigjh", strict=True)]
    (found,) = measured(points_of("a", texts, texts[::-1]))
    mean = found.measures[REPETITION].value
    assert 0 < mean.low <= mean.value <= mean.high < 1


def test_points_of_different_temperatures_are_compared_place_by_place() -> None:
    points = points_of("a", DIFFERENT, temperature=0.2) + points_of("a", DIFFERENT, temperature=0.9)
    (found,) = measured(points, temperatures=(0.2, 0.9))
    assert found.measures[ACROSS_TEMPERATURES].value.value == 1
    assert found.measures[ACROSS_TEMPERATURES].value.count == 3
    # Within a temperature nothing is repeated.
    assert found.measures[REPETITION].value.value == 0
    assert found.by_temperature[0.2][REPETITION].value.count == 3
    assert found.by_temperature[0.2][ACROSS_TEMPERATURES].value.count == 0


def test_a_planted_contradiction_is_found_and_is_the_only_one() -> None:
    pros = ["Self-driving cars are safe.", "Self-driving cars save time."]
    cons = ["Self-driving cars cost money.", "Self-driving cars are not safe."]
    points = points_of("a", pros, cons)
    (found,) = measured(points)
    assert found.measures[CONTRADICTION].value.value == 0.5
    assert found.measures[CONTRADICTION].control.value == 0
    denied, other, _, denying = (" ".join(found.warnings[point.turn.key]) for point in points)
    assert denied.startswith(f"contradicts {points[3].turn}")
    assert denied.endswith("“Self-driving cars are not safe”")
    assert denying.startswith(f"contradicts {points[0].turn}")
    assert "contradicts" not in other


def test_a_contradiction_within_a_side_is_the_control() -> None:
    pros = ["Self-driving cars are safe.", "Self-driving cars are unsafe.", "Self-driving cars look odd."]
    (found,) = measured(points_of("a", pros, ["Self-driving cars cost money."]))
    assert found.measures[CONTRADICTION].value.value == 0
    assert found.measures[CONTRADICTION].control.value == pytest.approx(2 / 3)


def test_a_contradiction_of_another_model_or_temperature_does_not_count() -> None:
    points = [
        *points_of("a", ["Cars are safe."], ["Cars look odd."], temperature=0.2),
        *points_of("a", ["Cars look odd."], ["Cars are not safe."], temperature=0.9),
        *points_of("b", ["Cars are not safe."], ["Cars are not safe."], temperature=0.2),
    ]
    found = measured(points, ("a", "b"), temperatures=(0.2, 0.9))
    assert [model.measures[CONTRADICTION].value.value for model in found] == [0, 0]


def test_drift_is_the_share_of_points_without_a_word_of_the_topic() -> None:
    pros = ["A car drives itself.", "Stealth fighters are expensive."]
    cons = ["Driving is a pleasure.", "Planes are loud."]
    control = points_of("a", ["Uniforms are dull."], topic="school uniforms")
    (found,) = measured([*points_of("a", pros, cons), *control], control_topic="school uniforms")
    assert found.measures[OFF_TOPIC].value.value == 0.5
    assert found.measures[OFF_TOPIC].control.value == 1
    # "car drives" has two of the three words self, driving, cars; "driving" has one.
    assert found.measures[TOPIC_WORDS].value.value == pytest.approx((2 / 3 + 1 / 3) / 4)
    assert found.mentions["for"] == {"self": 0, "driving": 0.5, "cars": 0.5}
    assert found.mentions["against"] == {"self": 0, "driving": 0.5, "cars": 0}
    assert "stealth" in found.named
    assert "driving" not in found.named
    assert ["names no word of the topic" in warnings for warnings in found.warnings.values()] == [False, True, False, True]


def test_loops_are_counted_within_a_point() -> None:
    (found,) = measured(points_of("a", ["go on and on and on and on"]))
    # Of six trigrams (go on and, on and on, and on and, ...), three are different.
    assert found.measures[LOOPS].value.value == pytest.approx(1 - 3 / 6)


def test_empty_points_are_counted_and_left_out() -> None:
    (found,) = measured(points_of("a", ["cars are fast today", "", "cars are fast today", "..."]))
    assert (found.points, found.empty) == (4, 2)
    assert found.measures[REPETITION].value.count == 1


def test_a_model_without_any_words_has_no_values() -> None:
    (found,) = measured(points_of("a", ["", ""], [""]))
    assert all(math.isnan(value.value.value) for value in found.measures.values())
    assert set(found.measures) <= set(DEFINITIONS)
