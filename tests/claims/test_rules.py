"""The rules that turn values into outcomes and outcomes into verdicts, and the order in which outcomes are tested."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.claims import rules
from glasshouse.claims.rules import control, equal, higher, lower, not_higher, not_lower, zero
from glasshouse.results.claim import (
    DEPENDS,
    REFUTED,
    TOO_SMALL,
    UNDECIDED,
    UPHELD,
    Measured,
    Part,
    Quantity,
    Registration,
    Series,
)
from tests.claims.example_values import DIVERGED, close_values, spread_values

LOSS = Quantity("loss", "test.loss", "nats per token")
ACCURACY = Quantity("accuracy", "test.accuracy", "%", 100, higher_is_better=True)


def outcome(part: Part, first: Any, second: Any = None, quantity: Quantity = LOSS, **level: Any) -> str:
    """The outcome of a part on two tables of values; the part's quantities are "a" and "b"."""
    series = {"a": Series(first), "b": Series(second)} if second is not None else {"a": Series(first)}
    return rules.judge_part(part, series, {"a": quantity, "b": quantity}, **level).outcome


@pytest.mark.parametrize(
    ("shift", "noise", "lower_outcome", "as_good", "same"),
    [
        (-1.0, 0.01, UPHELD, UPHELD, REFUTED),
        (1.0, 0.01, REFUTED, REFUTED, REFUTED),
        (0.0, 0.01, TOO_SMALL, UPHELD, UPHELD),
        (-0.05, 0.01, TOO_SMALL, UPHELD, UPHELD),  # certainly lower, but by less than the margin
        (0.05, 0.01, TOO_SMALL, UPHELD, UPHELD),  # certainly higher, but by less than the margin
        (0.0, 2.0, UNDECIDED, UNDECIDED, UNDECIDED),
    ],
)
def test_a_shown_trivial_effect_is_too_small_whatever_its_direction(shift, noise, lower_outcome, as_good, same):
    first = close_values(5.0, 0.5)
    other = {seed: value + shift + noise * (-1) ** (seed // 2) for seed, value in first.items()}
    assert outcome(lower("a", "b", 0.1), other, first) == lower_outcome
    assert outcome(not_higher("a", "b", 0.1), other, first) == as_good
    assert outcome(equal("a", "b", 0.1), other, first) == same


def test_an_arm_that_is_worse_by_half_the_margin_is_not_refuted():
    """In a third of studies it was, under the rule "worse, and the difference may reach the margin"."""
    generator = np.random.default_rng(0)
    refuted = 0
    for _ in range(300):
        first = dict(enumerate(generator.normal(size=16)))
        worse = {seed: value + 0.5 + generator.normal() for seed, value in first.items()}
        refuted += outcome(not_higher("a", "b", 1.0), worse, first) == REFUTED
    assert refuted <= 6


@pytest.mark.slow
@given(
    st.lists(st.floats(-3, 3), min_size=3, max_size=12),
    st.floats(0.01, 2),
    st.sampled_from(["higher", "lower"]),
)
def test_negated_values_have_the_opposite_outcome(differences, margin, direction):
    first = dict.fromkeys(range(len(differences)), 0.0)
    values, negated = dict(enumerate(differences)), {unit: -value for unit, value in enumerate(differences)}
    claim, opposite = (higher, lower) if direction == "higher" else (lower, higher)
    assert outcome(claim("a", "b", margin), values, first) == outcome(opposite("a", "b", margin), negated, first)
    swapped = {UPHELD: REFUTED, REFUTED: UPHELD}
    found = outcome(claim("a", "b", margin), values, first)
    assert outcome(opposite("a", "b", margin), values, first) == swapped.get(found, found)


@pytest.mark.slow
@given(st.lists(st.floats(-3, 3), min_size=4, max_size=12), st.floats(0.05, 1), st.floats(1.01, 4))
def test_a_wider_margin_never_makes_a_difference_matter_more(differences, margin, factor):
    values, first = dict(enumerate(differences)), dict.fromkeys(range(len(differences)), 0.0)
    narrow, wide = (outcome(higher("a", "b", size), values, first) for size in (margin, margin * factor))
    assert narrow != TOO_SMALL or wide == TOO_SMALL
    good_narrow, good_wide = (outcome(not_lower("a", "b", size), values, first) for size in (margin, margin * factor))
    assert good_narrow != UPHELD or good_wide == UPHELD


def test_what_speaks_against_a_claim_is_tested_at_its_share_of_the_level():
    first = close_values(0.0, 0.001)
    worse = {
        seed: value + 0.2 + 0.1 * noise
        for (seed, value), noise in zip(first.items(), (1, -1, 2, -2, 3, 0, -1, 1), strict=True)
    }
    assert outcome(lower("a", "b", 0.01), worse, first, parts=1) == REFUTED
    assert outcome(lower("a", "b", 0.01), worse, first, parts=50) == UNDECIDED
    better = {seed: -value for seed, value in worse.items()}
    assert outcome(lower("a", "b", 0.01), better, first, parts=50) == UPHELD, "all parts must hold: no correction"


def test_a_planned_look_is_paid_for():
    first = close_values(0.0, 0.001)
    better = {
        seed: value - 0.14 + 0.2 * noise
        for (seed, value), noise in zip(first.items(), (1, -1, 1, -1, 0, 0, -1, 1), strict=True)
    }
    part = lower("a", "b", 0.01)
    p = rules.judge_part(part, {"a": Series(better), "b": Series(first)}, {"a": LOSS, "b": LOSS}, looks=(8,), seeds=8).p
    later = rules.judge_part(
        part, {"a": Series(better), "b": Series(first)}, {"a": LOSS, "b": LOSS}, looks=(8, 16), seeds=8
    ).p
    assert p < later


def test_items_are_a_sample_too():
    """Two arms that differ on a few items only, in every seed: certain for these items, not for others like them."""
    base = dict.fromkeys(range(8), (0.0,) * 20)
    better = {seed: (*((0.0,) * 18), 1.0, 1.0 if seed else 0.0) for seed in range(8)}
    series = {
        "a": Series({seed: sum(row) / 20 for seed, row in better.items()}, better),
        "b": Series(dict.fromkeys(base, 0.0), base),
    }
    quantities = {"a": ACCURACY, "b": ACCURACY}
    fixed = rules.judge_part(higher("a", "b", 0.001), series, quantities)
    sampled = rules.judge_part(higher("a", "b", 0.001, items=True), series, quantities)
    assert (fixed.outcome, fixed.items) == (UPHELD, 0)
    assert (sampled.outcome, sampled.items) == (UNDECIDED, 20)
    assert sampled.high - sampled.low > fixed.high - fixed.low


def test_one_seed_that_decides_is_named():
    values = {**dict.fromkeys(range(7), -0.3), 7: 5.0}
    values = {seed: value + 0.01 * seed for seed, value in values.items()}
    series, quantities = {"a": Series({**values, 7: -0.3})}, {"a": LOSS}
    assert rules.judge_part(lower("a", 0.0, 0.01), series, quantities).fragile is None
    # Without the outlier the others are clearly lower; with it nothing is decided.
    assert rules.judge_part(lower("a", 0.0, 0.01), {"a": Series(values)}, quantities).outcome == UNDECIDED


def test_exact_parts_diverged_arms_and_missing_values():
    assert outcome(zero("a"), {0: 0.0, 1: 0.0}) == UPHELD
    assert outcome(zero("a"), {0: 0.0, 1: 2.0}) == REFUTED
    assert outcome(zero("a"), {}) == UNDECIDED
    good = close_values(1.0)
    assert outcome(lower("a", "b", 0.1), DIVERGED, good) == REFUTED
    assert outcome(lower("a", "b", 0.1), good, DIVERGED) == UPHELD
    assert outcome(higher("a", "b", 0.1), DIVERGED, good) == UPHELD, "an arm that diverges has a higher loss"
    assert outcome(higher("a", "b", 0.1), DIVERGED, good, ACCURACY) == REFUTED, "and a lower accuracy"
    assert outcome(lower("a", "b", 0.1), DIVERGED, DIVERGED) == UNDECIDED
    assert outcome(lower("a", "b", 0.1), good) == UNDECIDED, "nothing to compare with"
    some = {**good, 0: math.nan}
    result = rules.judge_part(lower("a", 2.0, 0.1), {"a": Series(some)}, {"a": LOSS})
    assert (result.outcome, result.diverged, result.units) == (UPHELD, 1, 7)


def test_a_control_that_is_not_shown_to_be_equal_decides_nothing():
    near, far = spread_values(1.0, 0.01), spread_values(2.0, 0.01, shift=3)
    assert outcome(control("a", "b", 0.1), near, spread_values(1.0, 0.01, shift=2)) == UPHELD
    assert outcome(control("a", "b", 0.1), near, far) == UNDECIDED


def test_verdicts_on_parts_are_combined_in_a_stated_order():
    assert rules.all_of([UPHELD, UPHELD]) == UPHELD
    assert rules.all_of([UPHELD, UNDECIDED, TOO_SMALL, REFUTED]) == REFUTED
    assert rules.all_of([UPHELD, UNDECIDED, TOO_SMALL]) == TOO_SMALL
    assert rules.all_of([UPHELD, UNDECIDED]) == rules.all_of([]) == UNDECIDED
    assert rules.combine([UPHELD, UPHELD]) == UPHELD
    assert rules.combine([UPHELD, TOO_SMALL]) == DEPENDS
    assert rules.combine([UPHELD, UNDECIDED]) == UNDECIDED


def test_a_claim_that_is_decided_differently_under_two_settings_depends_on_the_setting():
    parts = (
        lower("a", "b", 0.1, setting="reported rate"),
        lower("c", "b", 0.1, setting="tuned rates"),
        lower("c", "b", 0.1, name="beside", decides=False),
    )
    texts = {"statement": "s", "procedure": "p", "outcomes": "o"}
    plan = Registration(
        "x", 1, 0.0, "", 1000, (8,), 0.05, quantities=dict.fromkeys("abc", LOSS), parts=parts, studies=(), **texts
    )
    series = {"a": Series(spread_values(1.0)), "b": Series(spread_values(2.0)), "c": Series(spread_values(3.0, shift=1))}
    finding = rules.finding(plan, Measured(series, 8))
    assert finding.verdict == DEPENDS
    assert finding.by_setting == (("reported rate", UPHELD), ("tuned rates", REFUTED))
    assert [result.outcome for result in finding.parts] == [UPHELD, REFUTED, REFUTED]
    without = replace(plan, parts=parts[:1])
    assert rules.finding(without, Measured(series, 8)).verdict == UPHELD
    assert rules.finding(plan, Measured({}, 8)).verdict == UNDECIDED
