"""Verdicts of whole studies: they do not depend on units or order, and their sentences state their figures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.verdicts import sequential_tests
from glasshouse.verdicts.verdict import Summary, VerdictRule, judge, judge_pairs, summarise
from tests.properties import examples

pytestmark = pytest.mark.filterwarnings("error")
# The first use of a plan of looks simulates it, which takes longer than the deadline of hypothesis.
properties = examples(50)

NAN = float("nan")
# Eighths, their sums and their multiples are exact in binary, so that equal results can be compared exactly.
metric_values = st.integers(-800, 800).map(lambda eighths: eighths / 8)
rules = st.builds(
    VerdictRule,
    margin=st.sampled_from([None, 1.0, 20.0]),
    spread=st.sampled_from([0.5, 1.0]),
    higher_is_better=st.booleans(),
    looks=st.sampled_from([(), (4, 8)]),
)
# All pairs are more work for each example.
few_properties = examples(15)
one_look = st.builds(VerdictRule, margin=st.sampled_from([None, 1.0, 20.0]), higher_is_better=st.booleans())


@pytest.fixture(scope="module", autouse=True)
def quick_looks():
    """Simulate fewer studies for each plan of looks. The tests of this file hold for any number of them."""
    caches = (sequential_tests._null_paths, sequential_tests._smallest_scores, sequential_tests._last_level)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequential_tests, "DRAWS", 1)
        for cache in caches:
            cache.cache_clear()
        yield
    for cache in caches:
        cache.cache_clear()


@st.composite
def studies(draw):
    """Two to four arms of two to nine seeds. Some arms equal the first arm or differ from it by a constant."""
    seeds = draw(st.integers(2, 9))
    first = draw(st.lists(metric_values, min_size=seeds, max_size=seeds))
    arms = {"first": first}
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["random", "random", "equal", "shifted"]))
        values = draw(st.lists(metric_values, min_size=seeds, max_size=seeds)) if kind == "random" else first
        arms[f"arm {number}"] = [value + 3 for value in values] if kind == "shifted" else values
    return {name: dict(enumerate(values)) for name, values in arms.items()}


def study(shift, noise, seeds=8, generator=0):
    """Two arms whose pairs differ by `shift` on average, and by `noise` around it."""
    draws = np.random.default_rng(generator).standard_normal((2, seeds))
    draws = (draws - draws.mean(axis=1, keepdims=True)) / draws.std(axis=1, ddof=1, keepdims=True)
    first = 2 + 0.05 * draws[0]
    return {"learned": dict(enumerate(first)), "rotary": dict(enumerate(first + shift + noise * draws[1]))}


def mapped(values, change):
    return {name: {seed: change(value) for seed, value in table.items()} for name, table in values.items()}


@properties
@given(studies(), rules, st.sampled_from([0.25, 2.0, 64.0]), st.integers(-100, 100))
def test_a_verdict_does_not_depend_on_the_unit_or_the_zero_of_the_metric(values, rule, scale, shift):
    scaled = VerdictRule(rule.alpha, rule.margin and rule.margin * scale, rule.spread, rule.higher_is_better, rule.looks)
    other = judge(mapped(values, lambda value: value * scale + shift), scaled)
    for name, difference in judge(values, rule).items():
        same = other[name]
        assert (same.word, same.more_seeds, same.pairs) == (difference.word, difference.more_seeds, difference.pairs)
        for figure in ("p", "adjusted_p", "equivalence_p", "effect"):
            assert getattr(same, figure) == pytest.approx(getattr(difference, figure), rel=1e-6, abs=1e-12, nan_ok=True)
        for figure in ("mean", "low", "high", "margin", "smallest"):
            assert getattr(same, figure) == pytest.approx(getattr(difference, figure) * scale, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@properties
@given(studies(), rules)
def test_a_negated_metric_gives_the_same_verdict(values, rule):
    turned = VerdictRule(rule.alpha, rule.margin, rule.spread, not rule.higher_is_better, rule.looks)
    other = judge(mapped(values, lambda value: -value), turned)
    for name, difference in judge(values, rule).items():
        same = other[name]
        assert (same.word, same.more_seeds) == (difference.word, difference.more_seeds)
        assert (same.p, same.adjusted_p) == (difference.p, difference.adjusted_p)
        assert (same.mean, same.low, same.high) == pytest.approx((-difference.mean, -difference.high, -difference.low))
        assert same.equivalence_p == pytest.approx(difference.equivalence_p)


@properties
@given(studies(), rules, st.randoms(use_true_random=False))
def test_a_verdict_does_not_depend_on_the_order_of_the_seeds(values, rule, random):
    def shuffled(table):
        items = list(table.items())
        random.shuffle(items)
        return dict(items)

    assert repr(judge({name: shuffled(table) for name, table in values.items()}, rule)) == repr(judge(values, rule))


@properties
@given(studies(), rules)
def test_a_verdict_agrees_with_its_figures(values, rule):
    for difference in judge(values, rule).values():
        assert difference.p <= difference.adjusted_p <= 1
        assert difference.low <= difference.mean <= difference.high
        equivalent = difference.equivalence_p <= rule.alpha
        assert (difference.word == "no difference") == equivalent
        assert (difference.word in ("better", "worse")) == (difference.adjusted_p <= rule.alpha and not equivalent)
        if difference.word in ("better", "worse"):
            assert not difference.low <= 0 <= difference.high or difference.low == difference.high
            assert (difference.word == "better") == ((difference.mean > 0) == rule.higher_is_better)
        if difference.word == "no difference":
            assert ("certain but too small to matter" in difference.sentence) == (difference.adjusted_p <= rule.alpha)
            assert abs(difference.mean) < difference.margin or difference.mean == 0
        assert difference.more_seeds is None or (difference.word == "undecided" and difference.more_seeds >= 1)


@properties
@given(studies())
def test_exchanging_two_arms_gives_the_opposite_verdict(values):
    names = list(values)[:2]
    forward = judge({name: values[name] for name in names}, VerdictRule(margin=5.0))[names[1]]
    backward = judge({name: values[name] for name in reversed(names)}, VerdictRule(margin=5.0))[names[0]]
    assert (backward.p, backward.equivalence_p) == (forward.p, forward.equivalence_p)
    assert (backward.mean, backward.low, backward.high) == (-forward.mean, -forward.high, -forward.low)
    opposite = {"better": "worse", "worse": "better"}
    assert backward.word == opposite.get(forward.word, forward.word)


@properties
@given(studies(), st.sampled_from([NAN, math.inf, -math.inf]), st.booleans())
def test_a_seed_that_diverged_is_left_out_and_named(values, diverged_value, in_first):
    names = list(values)
    with_diverged = {name: dict(table) for name, table in values.items()}
    for name in names:
        with_diverged[name][99] = diverged_value if (name == names[0]) == in_first else 5.0
    rule = VerdictRule(margin=5.0)
    for name, difference in judge(with_diverged, rule).items():
        without = judge(values, rule)[name]
        assert (difference.p, difference.mean, difference.word, difference.pairs) == (
            without.p,
            without.mean,
            without.word,
            without.pairs,
        )
        assert f"left out because they diverged: seed 99 of {names[0] if in_first else name}" in difference.sentence


def test_seeds_that_only_one_arm_has_are_not_paired():
    values = study(0.1, 0.02)
    values["rotary"][50] = 9.0
    del values["rotary"][0]
    difference = judge(values, VerdictRule(margin=0.05))["rotary"]
    assert difference.pairs == 7
    assert "diverged" not in difference.sentence


@pytest.mark.parametrize(
    ("rotary_values", "pairs", "words"),
    [
        ({0: 1.0, 1: NAN}, 1, ("only one seed", "needs 2", "left out because they diverged: seed 1 of rotary")),
        ({0: NAN, 1: NAN}, 0, ("no seed", "needs 2", "left out because they diverged: seeds 0, 1 of rotary")),
        ({5: 1.0, 6: 2.0}, 0, ("no seed", "needs 2")),
    ],
    ids=["one pair", "all diverged", "no common seed"],
)
@pytest.mark.parametrize("looks", [(), (4, 8)])
def test_too_few_pairs_are_undecided_and_say_why(rotary_values, pairs, words, looks):
    values = {"learned": {0: 1.0, 1: 2.0}, "rotary": rotary_values, "alibi": {0: 1.0, 1: 2.0}}
    differences = judge(values, VerdictRule(looks=looks))
    rotary = differences["rotary"]
    assert (rotary.pairs, rotary.word, rotary.more_seeds) == (pairs, "undecided", None)
    assert all(text in rotary.sentence for text in words)
    assert all(map(math.isnan, (rotary.p, rotary.adjusted_p, rotary.equivalence_p, rotary.low, rotary.smallest)))
    assert differences["alibi"].word == "no difference"


def test_equal_arms_have_no_difference_and_constant_differences_are_certain():
    first = {seed: 0.1 * seed for seed in range(4)}
    values = {
        "first": first,
        "equal": dict(first),
        "rounded": {seed: math.nextafter(value, 9) for seed, value in first.items()},
        "above": {seed: value + 0.1 for seed, value in first.items()},
    }
    differences = judge(values, VerdictRule())
    for name in ("equal", "rounded"):
        difference = differences[name]
        assert (difference.word, difference.mean, difference.p, difference.effect) == ("no difference", 0, 1, 0)
        assert difference.sentence == f"{name}: no difference from first at all, the same value in each of 4 seeds"
    above = differences["above"]
    assert (above.word, above.p, above.effect, above.smallest) == ("worse", 0, math.inf, 0)
    assert above.low == above.mean == above.high == pytest.approx(0.1)
    # If no arm varies, the margin is 0.
    constant = {"first": {0: 1.0, 1: 1.0}, "equal": {0: 1.0, 1: 1.0}, "above": {0: 2.0, 1: 2.0}}
    assert [d.word for d in judge(constant, VerdictRule(higher_is_better=True)).values()] == ["no difference", "better"]


def even_study(shift, noise, seeds=8):
    """Like `study`, with differences that are not skewed: the test is then nearly the t-test."""
    values = study(shift, 0.0, seeds)
    steps = np.arange(seeds) - (seeds - 1) / 2
    steps = noise * steps / steps.std(ddof=1)
    order = np.random.default_rng(1).permutation(seeds)
    values["rotary"] = {seed: value + steps[order[seed]] for seed, value in values["rotary"].items()}
    return values


def test_sentences_state_the_difference_its_interval_and_its_p_value():
    better = judge(even_study(-0.12, 0.04), VerdictRule(margin=0.05))["rotary"]
    assert better.sentence == "rotary is better than learned by 0.120 (95 % interval 0.089 to 0.151; p < 0.0001)"
    worse = judge(even_study(-0.12, 0.1), VerdictRule(alpha=0.1, margin=0.05, higher_is_better=True))["rotary"]
    assert worse.sentence == "rotary is worse than learned by 0.120 (90 % interval 0.058 to 0.182; p = 0.0088)"
    none = judge(even_study(0.003, 0.04), VerdictRule(margin=0.05))["rotary"]
    assert none.sentence == (
        "rotary: no difference from learned larger than 0.05 "
        "(the difference is 0.003, 95 % interval -0.028 to 0.034; p = 0.0049)"
    )
    estimated = judge(even_study(0.003, 0.02), VerdictRule())["rotary"]
    assert estimated.sentence == (
        "rotary: no difference from learned larger than 0.050 (one standard deviation between its seeds; "
        "the difference is 0.003, 95 % interval -0.013 to 0.019; p = 0.00057)"
    )
    certain = judge(even_study(0.02, 0.008), VerdictRule(margin=0.05))["rotary"]
    assert certain.sentence == (
        "rotary: no difference from learned larger than 0.05 "
        "(the difference is 0.0200, certain but too small to matter, 95 % interval 0.0138 to 0.0262; p < 0.0001)"
    )


def test_a_skewed_difference_has_a_longer_interval_on_the_side_of_its_tail():
    values = even_study(0.1, 0.02)
    values["rotary"][0] += 0.2
    difference = judge(values, VerdictRule(margin=0.05))["rotary"]
    assert difference.high - difference.mean > 1.3 * (difference.mean - difference.low)
    sentence = f"interval {difference.low:.2f} to {difference.high:.2f}"
    assert sentence in difference.sentence


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_below_the_margin_is_no_difference_even_if_its_direction_is_certain(sign):
    """The order of the outcomes: the same data are worse with a small margin and too small to matter with a large one."""
    words = [judge(even_study(sign * 0.02, 0.008), VerdictRule(margin=margin))["rotary"] for margin in (0.01, 0.022, 0.05)]
    assert all(difference.adjusted_p < 0.001 for difference in words)
    direction = "worse" if sign > 0 else "better"
    assert [difference.word for difference in words] == [direction, direction, "no difference"]


@pytest.mark.slow
@properties
@given(studies(), rules, st.floats(1.0, 10.0))
def test_a_larger_margin_never_turns_no_difference_into_another_word(values, rule, factor):
    """What one margin shows to be too small, a larger one shows too."""
    margin = rule.margin or 2.0
    narrow, wide = (
        judge(values, VerdictRule(rule.alpha, each, 1.0, rule.higher_is_better, rule.looks))
        for each in (margin, margin * factor)
    )
    # With several arms the correction of an arm depends on the others, so only a study of two arms is compared by its word.
    for name, difference in narrow.items():
        assert wide[name].p == difference.p
        if len(narrow) == 1:
            assert wide[name].word in ("no difference", difference.word)


def test_the_seed_that_decides_is_named():
    rule = VerdictRule(margin=0.01)
    solid = judge(even_study(0.2, 0.04), rule)["rotary"]
    assert (solid.word, solid.fragile) == ("worse", None)
    values = even_study(0.035, 0.04)
    decided = judge(values, rule)["rotary"]
    assert decided.word == "worse"
    without = {
        arm: {seed: value for seed, value in table.items() if seed != decided.fragile} for arm, table in values.items()
    }
    assert (judge(without, rule)["rotary"].word, len(without["rotary"])) == ("undecided", 7)
    # A study with looks is not finished, and one that is undecided has nothing to lose.
    assert judge(values, VerdictRule(margin=0.01, looks=(4, 8)))["rotary"].fragile is None
    assert judge(even_study(0.02, 0.04), rule)["rotary"].fragile is None


@pytest.mark.slow
@properties
@given(studies(), rules)
def test_without_the_seed_that_decides_the_word_is_another(values, rule):
    """Exactly so for two arms and a margin that is given; else the others and the margin change as well."""
    two = dict(list(values.items())[:2])
    rule = VerdictRule(rule.alpha, rule.margin or 5.0, 1.0, rule.higher_is_better)
    name = list(two)[1]
    difference = judge(two, rule)[name]
    words = {
        seed: judge({arm: {s: v for s, v in table.items() if s != seed} for arm, table in two.items()}, rule)[name].word
        for seed in two[name]
    }
    if difference.word == "undecided" or difference.pairs < 3:
        assert difference.fragile is None
    elif difference.fragile is None:
        assert set(words.values()) == {difference.word}
    else:
        assert words[difference.fragile] != difference.word


def test_an_undecided_verdict_says_how_many_more_seeds_would_decide_it():
    difference = judge(even_study(0.05, 0.07), VerdictRule())["rotary"]
    assert difference.word == "undecided"
    assert difference.sentence == (
        "rotary is undecided against learned: the difference is 0.050 (95 % interval -0.005 to 0.105; p = 0.067), "
        "about 10 more seeds would settle it"
    )
    assert difference.more_seeds == 10
    grown = [judge(study(0.05, 0.07, seeds=18, generator=draw), VerdictRule())["rotary"].word for draw in range(3)]
    assert grown == ["worse"] * 3
    few = {arm: {seed: values[seed] for seed in sorted(values)[:3]} for arm, values in even_study(0.05, 0.07).items()}
    assert "more seed" not in judge(few, VerdictRule())["rotary"].sentence, "three seeds hardly show their spread"
    tiny = judge(study(1e-6, 0.1), VerdictRule(margin=1e-4))["rotary"]
    assert tiny.more_seeds is None
    assert tiny.sentence.endswith(", 10,000 seeds would not settle it")


def test_more_arms_and_more_looks_need_larger_differences():
    values = study(0.07, 0.07)
    alone = judge(values, VerdictRule())["rotary"]
    with_others = judge({**values, "alibi": values["learned"], "none": values["rotary"]}, VerdictRule())["rotary"]
    with_looks = judge(values, VerdictRule(looks=(4, 8, 12, 16)))["rotary"]
    assert alone.p == with_others.p
    assert alone.adjusted_p == alone.p < min(with_others.adjusted_p, with_looks.adjusted_p)
    assert alone.smallest < min(with_others.smallest, with_looks.smallest)
    # Looks widen the interval. Other arms do not, because the interval is about this arm only.
    assert (alone.low, alone.high) == (with_others.low, with_others.high)
    assert with_looks.low < alone.low < alone.high < with_looks.high
    assert "; p = " in alone.sentence
    assert "; corrected p = " in with_others.sentence
    assert "; corrected p = " in with_looks.sentence


def test_a_summary_leaves_out_seeds_that_diverged():
    summary = summarise([1.0, 2.0, NAN, 3.0])
    assert (summary.seeds, summary.mean, summary.deviation) == (3, 2.0, 1.0)
    # The 97.5 % quantile of Student's t with two degrees of freedom.
    assert (summary.low, summary.high) == pytest.approx((2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5), rel=1e-5)
    assert summarise([0.1] * 3) == Summary(3, 0.1, 0.0, 0.1, 0.1)
    alone = summarise([4.0])
    assert (alone.seeds, alone.mean) == (1, 4.0)
    assert math.isnan(alone.deviation)
    with pytest.raises(ValueError, match="all 2 seeds"):
        summarise([NAN, math.inf])


@pytest.mark.parametrize(
    "fields",
    [
        {"alpha": 0.0},
        {"alpha": 1.5},
        {"margin": 0.0},
        {"margin": NAN},
        {"spread": -1.0},
        {"looks": (1, 4)},
        {"looks": (8, 4)},
    ],
)
def test_an_invalid_rule_is_refused(fields):
    with pytest.raises(ValueError, match=f"^{next(iter(fields))}="):
        VerdictRule(**fields)


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_values_whose_squares_overflow_or_underflow_are_judged_like_others(scale):
    values = study(0.02, 0.04)
    usual = judge(values, VerdictRule())["rotary"]
    difference = judge(mapped(values, lambda value: value * scale), VerdictRule())["rotary"]
    assert (difference.word, difference.more_seeds) == (usual.word, usual.more_seeds)
    assert (difference.p, difference.equivalence_p) == pytest.approx((usual.p, usual.equivalence_p))
    assert len(difference.sentence) < 200


def test_a_study_of_one_arm_has_no_verdicts():
    assert judge({"alone": {0: 1.0, 1: 2.0}}, VerdictRule()) == {}
    assert judge({}, VerdictRule()) == {}


@few_properties
@given(studies(), one_look)
def test_all_pairs_have_the_figures_of_two_arms_and_a_stricter_correction(values, rule):
    names, pairs = list(values), judge_pairs(values, rule)
    assert list(pairs) == [(arm, against) for index, against in enumerate(names) for arm in names[index + 1 :]]
    against_first = judge(values, rule)
    for (arm, against), pair in pairs.items():
        # The margin is the first arm's. Apart from it, a pair is a study of its two arms.
        alone = judge({against: values[against], arm: values[arm]}, rule)[arm]
        for figure in ("mean", "low", "high", "p", "effect"):
            assert getattr(pair, figure) == pytest.approx(getattr(alone, figure), rel=1e-9, nan_ok=True)
        assert pair.adjusted_p >= alone.adjusted_p
        if against == names[0]:
            planned = against_first[arm]
            assert pair.margin == pytest.approx(planned.margin, nan_ok=True)
            assert pair.adjusted_p >= planned.adjusted_p
            assert pair.equivalence_p >= planned.equivalence_p or math.isnan(planned.equivalence_p)
            assert pair.word in (planned.word, "undecided", "better", "worse")
            assert (pair.word in ("better", "worse")) <= (planned.adjusted_p <= rule.alpha)
    smallest = min(pair.p for pair in pairs.values())
    assert min(pair.adjusted_p for pair in pairs.values()) <= min(1.0, smallest * len(pairs)) + 1e-12


@few_properties
@given(studies(), one_look, st.randoms(use_true_random=False))
def test_the_order_of_the_arms_turns_a_pair_and_changes_no_verdict(values, rule, random):
    first, *others = values
    random.shuffle(others)
    turned = judge_pairs({name: values[name] for name in (first, *others)}, rule)
    opposite = {"better": "worse", "worse": "better"}
    for (arm, against), pair in judge_pairs(values, rule).items():
        same = (arm, against) in turned
        other = turned[(arm, against)] if same else turned[(against, arm)]
        assert other.adjusted_p == pytest.approx(pair.adjusted_p, nan_ok=True)
        assert other.mean == pytest.approx(pair.mean if same else -pair.mean)
        assert other.word == (pair.word if same else opposite.get(pair.word, pair.word))


def test_a_pair_without_the_first_arm_is_judged_if_the_first_arm_diverged():
    values = {"first": dict.fromkeys(range(6), NAN)}
    values["low"] = {seed: 2 + 0.01 * seed for seed in range(6)}
    values["high"] = {seed: 3 + 0.02 * seed + 0.01 * (seed % 2) for seed in range(6)}
    pairs = judge_pairs(values, VerdictRule())
    assert pairs["high", "low"].word == "worse"
    assert pairs["high", "low"].sentence.startswith("high is worse than low by")
    assert pairs["low", "first"].word == "undecided"
    assert judge_pairs({}, VerdictRule()) == {}


def test_the_example_of_the_package():
    import doctest

    import glasshouse.verdicts

    assert doctest.testmod(glasshouse.verdicts).attempted == 3
    assert doctest.testmod(glasshouse.verdicts).failed == 0
