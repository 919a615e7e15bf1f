"""Verdicts about a population of items: their error rate, their agreement with the plain test, and looks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as rules
from hypothesis import strategies as st

from glasshouse.verdicts.verdict import ItemScores, Values, VerdictRule, judge

NOBODY = VerdictRule()
Items = dict[str, dict[int, np.ndarray]]


def means(items: Items) -> Values:
    return {arm: {seed: float(row.mean()) for seed, row in rows.items()} for arm, rows in items.items()}


def drawn(
    generator: np.random.Generator, seeds: int, items: int, *, effect: float = 0.0, arm_by_item: float, noise: float = 0.3
) -> Items:
    """Two arms: items of different difficulty, and an effect that differs between items."""
    difficulty, per_item = generator.normal(0, 1, items), generator.normal(effect, arm_by_item, items)
    return {
        arm: {
            seed: difficulty + shift + generator.normal(0, noise, items) + generator.normal(0, 0.05) for seed in range(seeds)
        }
        for arm, shift in (("a", 0.0), ("b", per_item))
    }


def judged(items: Items, rule: VerdictRule = NOBODY):
    return judge(means(items), rule, ItemScores(items, "texts"))["b"]


@pytest.mark.slow
def test_arms_that_are_equal_over_the_population_are_rarely_called_different():
    """The same 40 items for every seed: taken as fixed, they make a difference that no other items would show."""
    generator = np.random.default_rng(0)
    studies = [drawn(generator, 8, 40, arm_by_item=0.5) for _ in range(100)]
    wrong = sum(judged(items).word in ("better", "worse") for items in studies)
    fixed = sum(judge(means(items), NOBODY)["b"].word in ("better", "worse") for items in studies)
    # 100 studies at 5 %: 5 on average, and more than 13 in one of a thousand simulations.
    assert wrong <= 13
    assert fixed > 20


def test_the_interval_covers_the_effect_in_the_population():
    generator = np.random.default_rng(1)
    found = [judged(drawn(generator, 6, 30, effect=0.4, arm_by_item=0.5)) for _ in range(100)]
    assert sum(difference.low <= 0.4 <= difference.high for difference in found) >= 87


def test_an_effect_that_every_item_shows_is_found():
    items = drawn(np.random.default_rng(2), 8, 200, effect=0.4, arm_by_item=0.2)
    better = judged(items, VerdictRule(higher_is_better=True))
    assert better.word == "better"
    assert judged(items).word == "worse"
    assert "over 8 seeds and 200 texts" in better.sentence
    assert better.pairs == 8


@rules(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    seeds=st.integers(2, 10),
    items=st.integers(2, 30),
    arm_by_item=st.sampled_from([0.0, 0.1, 1.0]),
    margin=st.none() | st.floats(0.05, 2.0),
)
def test_a_verdict_is_never_more_certain_than_with_the_items_as_fixed(seed, seeds, items, arm_by_item, margin):
    rows = drawn(np.random.default_rng(seed), seeds, items, effect=0.3, arm_by_item=arm_by_item)
    rule = VerdictRule(margin=margin)
    plain, with_items = judge(means(rows), rule)["b"], judged(rows, rule)
    assert with_items.mean == pytest.approx(plain.mean)
    assert with_items.low <= plain.low <= plain.high <= with_items.high
    assert with_items.adjusted_p >= plain.adjusted_p
    assert with_items.equivalence_p >= plain.equivalence_p
    if plain.word == "undecided":
        assert with_items.word == "undecided"


def test_equal_arms_have_no_difference():
    rows = drawn(np.random.default_rng(3), 5, 20, arm_by_item=0.0)
    same = {"a": rows["a"], "b": rows["a"]}
    assert judged(same).word == "no difference"
    assert judged(same, VerdictRule(margin=0.1)).word == "no difference"


def test_few_items_cannot_be_made_up_for_by_seeds():
    items = drawn(np.random.default_rng(7), 40, 10, effect=0.2, arm_by_item=1.0, noise=0.01)
    undecided = judged(items, VerdictRule(margin=0.05))
    assert (undecided.word, undecided.more_seeds) == ("undecided", None)
    assert "more seeds alone would not settle it" in undecided.sentence


def test_arms_and_looks_are_corrected_for():
    generator = np.random.default_rng(5)
    two = drawn(generator, 8, 50, effect=0.1, arm_by_item=0.2)
    three = {**two, "c": drawn(generator, 8, 50, arm_by_item=0.2)["b"]}
    one = judged(two)
    of_three = judge(means(three), NOBODY, ItemScores(three, "texts"))
    assert of_three["b"].p == one.p
    assert of_three["b"].adjusted_p > one.adjusted_p
    sequential = judged(two, VerdictRule(looks=(4, 8, 12)))
    assert sequential.adjusted_p > one.adjusted_p
    assert sequential.high - sequential.low > one.high - one.low


def test_diverged_and_unscored_seeds_are_left_out():
    items = {arm: dict(rows) for arm, rows in drawn(np.random.default_rng(6), 5, 20, effect=1, arm_by_item=0.1).items()}
    values = {arm: dict(rows) for arm, rows in means(items).items()}
    values["b"][3] = math.nan
    del items["b"][3]
    difference = judge(values, NOBODY, ItemScores(items, "texts"))["b"]
    assert difference.pairs == 4
    assert "left out because they diverged: seed 3 of b" in difference.sentence
    del items["b"][4]
    assert judge(values, NOBODY, ItemScores(items, "texts"))["b"].pairs == 3
    for seed in (1, 2):
        del items["b"][seed]
    too_few = judge(values, NOBODY, ItemScores(items, "texts"))["b"]
    assert too_few.word == "undecided"
    assert judge({"a": values["a"]}, NOBODY, ItemScores(items, "texts")) == {}
