"""Verdicts of whole studies: what must not matter does not, and the sentences say what was found."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.formatting import rounded
from glasshouse.metrics import sequential_tests
from glasshouse.metrics.verdicts import Summary, VerdictRule, judge, summarise
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("error")
# The first use of a plan of looks simulates it, which can take longer than hypothesis likes.
properties = settings(deadline=None, max_examples=50)

NAN = float("nan")
# Eighths are exact in binary, and so are their sums and multiples: equal results can be asked for to the last bits.
figures = st.integers(-800, 800).map(lambda eighths: eighths / 8)
rules = st.builds(
    VerdictRule,
    margin=st.sampled_from([None, 1.0, 20.0]),
    spread=st.sampled_from([0.5, 1.0]),
    higher_is_better=st.booleans(),
    looks=st.sampled_from([(), (4, 8)]),
)


@pytest.fixture(scope="module", autouse=True)
def quick_looks():
    """Fewer simulated studies behind each plan of looks: what is asked here holds whatever their number."""
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
    """Two to four arms of two to nine seeds, sometimes with a constant arm or an equal one."""
    seeds = draw(st.integers(2, 9))
    first = draw(st.lists(figures, min_size=seeds, max_size=seeds))
    arms = {"first": first}
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["free", "free", "equal", "apart"]))
        own = draw(st.lists(figures, min_size=seeds, max_size=seeds)) if kind == "free" else first
        arms[f"arm {number}"] = [value + 3 for value in own] if kind == "apart" else own
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
def test_unit_and_zero_of_the_metric_do_not_matter(values, rule, scale, shift):
    scaled = VerdictRule(rule.alpha, rule.margin and rule.margin * scale, rule.spread, rule.higher_is_better, rule.looks)
    other = judge(mapped(values, lambda value: value * scale + shift), scaled)
    for name, found in judge(values, rule).items():
        same = other[name]
        assert (same.word, same.more_seeds, same.pairs) == (found.word, found.more_seeds, found.pairs)
        for figure in ("p", "adjusted_p", "equivalence_p", "effect"):
            assert getattr(same, figure) == pytest.approx(getattr(found, figure), rel=1e-6, abs=1e-12, nan_ok=True)
        for figure in ("mean", "low", "high", "margin", "smallest"):
            assert getattr(same, figure) == pytest.approx(getattr(found, figure) * scale, rel=1e-6, abs=1e-9)


@properties
@given(studies(), rules)
def test_a_metric_turned_round_gives_the_same_verdict(values, rule):
    turned = VerdictRule(rule.alpha, rule.margin, rule.spread, not rule.higher_is_better, rule.looks)
    other = judge(mapped(values, lambda value: -value), turned)
    for name, found in judge(values, rule).items():
        same = other[name]
        assert (same.word, same.more_seeds) == (found.word, found.more_seeds)
        assert (same.p, same.adjusted_p) == (found.p, found.adjusted_p)
        assert (same.mean, same.low, same.high) == pytest.approx((-found.mean, -found.high, -found.low))
        assert same.equivalence_p == pytest.approx(found.equivalence_p)


@properties
@given(studies(), rules, st.randoms(use_true_random=False))
def test_the_order_of_the_seeds_does_not_matter(values, rule, chance):
    def shuffled(table):
        items = list(table.items())
        chance.shuffle(items)
        return dict(items)

    assert repr(judge({name: shuffled(table) for name, table in values.items()}, rule)) == repr(judge(values, rule))


@properties
@given(studies(), rules)
def test_a_verdict_and_its_figures_agree(values, rule):
    for found in judge(values, rule).values():
        assert found.p <= found.adjusted_p <= 1
        assert found.low <= found.mean <= found.high
        assert (found.word in ("better", "worse")) == (found.adjusted_p <= rule.alpha)
        if found.word in ("better", "worse"):
            assert not found.low <= 0 <= found.high or found.low == found.high
            assert (found.word == "better") == ((found.mean > 0) == rule.higher_is_better)
        if found.word == "no difference":
            assert found.equivalence_p <= rule.alpha
            assert abs(found.mean) < found.margin or found.mean == 0
        assert found.more_seeds is None or (found.word == "undecided" and found.more_seeds >= 1)


@properties
@given(studies())
def test_the_first_two_arms_can_change_places(values):
    names = list(values)[:2]
    here = judge({name: values[name] for name in names}, VerdictRule(margin=5.0))[names[1]]
    there = judge({name: values[name] for name in reversed(names)}, VerdictRule(margin=5.0))[names[0]]
    assert (there.p, there.equivalence_p) == (here.p, here.equivalence_p)
    assert (there.mean, there.low, there.high) == (-here.mean, -here.high, -here.low)
    opposite = {"better": "worse", "worse": "better"}
    assert there.word == opposite.get(here.word, here.word)


@properties
@given(studies(), st.sampled_from([NAN, math.inf, -math.inf]), st.booleans())
def test_a_seed_that_diverged_is_left_out_and_named(values, wreck, in_first):
    names = list(values)
    wrecked = {name: dict(table) for name, table in values.items()}
    for name in names:
        wrecked[name][99] = wreck if (name == names[0]) == in_first else 5.0
    rule = VerdictRule(margin=5.0)
    for name, found in judge(wrecked, rule).items():
        without = judge(values, rule)[name]
        assert (found.p, found.mean, found.word, found.pairs) == (without.p, without.mean, without.word, without.pairs)
        assert f"left out because they diverged: seed 99 of {names[0] if in_first else name}" in found.sentence


def test_seeds_that_only_one_arm_has_are_not_paired():
    values = study(0.1, 0.02)
    values["rotary"][50] = 9.0
    del values["rotary"][0]
    found = judge(values, VerdictRule(margin=0.05))["rotary"]
    assert found.pairs == 7
    assert "diverged" not in found.sentence


@pytest.mark.parametrize(
    ("own", "pairs", "words"),
    [
        (
            {0: 1.0, 1: NAN},
            1,
            "only one seed came through in both, and a paired test needs 2; left out because they diverged",
        ),
        ({0: NAN, 1: NAN}, 0, "no seed came through in both, and a paired test needs 2; left out because they diverged"),
        ({5: 1.0, 6: 2.0}, 0, "no seed came through in both, and a paired test needs 2"),
    ],
)
@pytest.mark.parametrize("looks", [(), (4, 8)])
def test_too_few_pairs_are_undecided_and_say_why(own, pairs, words, looks):
    values = {"learned": {0: 1.0, 1: 2.0}, "rotary": own, "alibi": {0: 1.0, 1: 2.0}}
    found = judge(values, VerdictRule(looks=looks))
    rotary = found["rotary"]
    assert (rotary.pairs, rotary.word, rotary.more_seeds) == (pairs, "undecided", None)
    assert words in rotary.sentence
    assert all(map(math.isnan, (rotary.p, rotary.adjusted_p, rotary.equivalence_p, rotary.low, rotary.smallest)))
    assert found["alibi"].word == "no difference"


def test_equal_arms_are_no_difference_and_constant_ones_certain():
    first = {seed: 0.1 * seed for seed in range(4)}
    values = {
        "first": first,
        "equal": dict(first),
        "rounded": {seed: math.nextafter(value, 9) for seed, value in first.items()},
        "above": {seed: value + 0.1 for seed, value in first.items()},
    }
    found = judge(values, VerdictRule())
    for name in ("equal", "rounded"):
        assert (found[name].word, found[name].mean, found[name].p, found[name].effect) == ("no difference", 0, 1, 0)
        assert found[name].sentence == f"{name}: no difference from first at all, the same value in each of 4 seeds"
    above = found["above"]
    assert (above.word, above.p, above.effect, above.smallest) == ("worse", 0, math.inf, 0)
    assert above.low == above.mean == above.high == pytest.approx(0.1)
    # Where no arm varies at all, nor does the margin.
    still = {"first": {0: 1.0, 1: 1.0}, "equal": {0: 1.0, 1: 1.0}, "above": {0: 2.0, 1: 2.0}}
    assert [d.word for d in judge(still, VerdictRule(higher_is_better=True)).values()] == ["no difference", "better"]


def test_sentences():
    better = judge(study(-0.12, 0.04), VerdictRule(margin=0.05))["rotary"]
    assert better.sentence == "rotary is better than learned by 0.120 (95 % interval 0.087 to 0.153; p < 0.0001)"
    worse = judge(study(-0.12, 0.1), VerdictRule(alpha=0.1, margin=0.05, higher_is_better=True))["rotary"]
    assert worse.sentence == "rotary is worse than learned by 0.120 (90 % interval 0.053 to 0.187; p = 0.012)"
    none = judge(study(0.003, 0.04), VerdictRule(margin=0.05))["rotary"]
    assert none.sentence == (
        "rotary: no difference from learned larger than 0.05 "
        "(the difference is 0.003, 95 % interval -0.030 to 0.036; p = 0.0064)"
    )
    estimated = judge(study(0.003, 0.02), VerdictRule())["rotary"]
    assert estimated.sentence == (
        "rotary: no difference from learned larger than 0.050 (one deviation between its seeds; "
        "the difference is 0.003, 95 % interval -0.014 to 0.020; p = 0.0026)"
    )
    small = judge(study(0.02, 0.008), VerdictRule(margin=0.05))["rotary"]
    assert small.sentence == (
        "rotary is worse than learned by 0.0200 (95 % interval 0.0133 to 0.0267; p = 0.0002), "
        "which is less than the margin of 0.05"
    )


def test_undecided_says_how_many_more_seeds_and_these_would_do():
    values = study(0.05, 0.07)
    found = judge(values, VerdictRule())["rotary"]
    assert found.word == "undecided"
    assert found.sentence == (
        "rotary is undecided against learned: the difference is 0.050 (95 % interval -0.009 to 0.109; p = 0.083), "
        "about 10 more seeds would settle it"
    )
    assert found.more_seeds == 10
    grown = [judge(study(0.05, 0.07, seeds=18, generator=draw), VerdictRule())["rotary"].word for draw in range(3)]
    assert grown == ["worse"] * 3
    tiny = judge(study(1e-6, 0.1), VerdictRule(margin=1e-4))["rotary"]
    assert tiny.more_seeds is None
    assert tiny.sentence.endswith(", 10,000 seeds would not settle it")


def test_more_arms_and_more_looks_ask_for_more():
    values = study(0.07, 0.07)
    alone = judge(values, VerdictRule())["rotary"]
    beside = judge({**values, "alibi": values["learned"], "none": values["rotary"]}, VerdictRule())["rotary"]
    looked = judge(values, VerdictRule(looks=(4, 8, 12, 16)))["rotary"]
    assert alone.p == beside.p == looked.p
    assert alone.adjusted_p == alone.p < min(beside.adjusted_p, looked.adjusted_p)
    assert alone.smallest < min(beside.smallest, looked.smallest)
    # Looks widen the interval; other arms do not, for it speaks of this arm alone.
    assert (alone.low, alone.high) == (beside.low, beside.high)
    assert looked.low < alone.low < alone.high < looked.high
    assert "; p = " in alone.sentence
    assert "; corrected p = " in beside.sentence
    assert "; corrected p = " in looked.sentence


def test_summaries():
    summary = summarise([1.0, 2.0, NAN, 3.0])
    assert (summary.seeds, summary.mean, summary.deviation) == (3, 2.0, 1.0)
    # t with two degrees of freedom: 4.303 standard errors.
    assert (summary.low, summary.high) == pytest.approx((2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5), rel=1e-5)
    assert summarise([0.1] * 3) == Summary(3, 0.1, 0.0, 0.1, 0.1)
    alone = summarise([4.0])
    assert (alone.seeds, alone.mean) == (1, 4.0)
    assert math.isnan(alone.deviation)
    with refused("all-diverged"):
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
def test_impossible_rules_are_refused(fields):
    code = {"alpha": "bad-alpha", "looks": "bad-looks"}.get(next(iter(fields)), "bad-margin")
    with refused(code, next(iter(fields))):
        VerdictRule(**fields)


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_values_whose_squares_are_beyond_floats_are_judged_as_others_are(scale):
    values = study(0.02, 0.04)
    usual = judge(values, VerdictRule())["rotary"]
    found = judge(mapped(values, lambda value: value * scale), VerdictRule())["rotary"]
    assert (found.word, found.more_seeds) == (usual.word, usual.more_seeds)
    assert (found.p, found.equivalence_p) == pytest.approx((usual.p, usual.equivalence_p))
    assert len(found.sentence) < 200


def test_one_arm_has_nothing_to_be_judged_against():
    assert judge({"alone": {0: 1.0, 1: 2.0}}, VerdictRule()) == {}
    assert judge({}, VerdictRule()) == {}


@pytest.mark.parametrize(
    ("value", "uncertainty", "text"),
    [
        (0.12, 0.039, "0.120"),
        (-0.0004, 0.05, "0.000"),
        (1234.5, 321.0, "1234"),
        (12.345, 0.0, "12.3"),
        (0.0, 0.0, "0"),
        (2e-9, 1e-10, "2e-09"),
        (0.25, NAN, "0.250"),
    ],
)
def test_figures_have_the_decimals_that_their_uncertainty_deserves(value, uncertainty, text):
    assert rounded(value, uncertainty) == text
