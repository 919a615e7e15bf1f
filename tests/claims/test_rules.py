"""The rules that turn figures into verdicts, and how figures are written."""

import math

import pytest

from glasshouse.claims import rules
from glasshouse.metrics.verdicts import VerdictRule, judge


@pytest.mark.parametrize(
    ("values", "figure", "higher", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.0], 2.0, False, "upheld"),
        ([1.0, 1.1, 0.9, 1.0], 2.0, True, "refuted"),
        ([1.0, 1.1, 0.9, 1.0], 0.5, True, "upheld"),
        ([1.0, 3.0, 0.5, 2.0], 1.5, False, "undecided"),
        ([1.0], 2.0, False, "undecided"),
        ([], 2.0, False, "undecided"),
        ([math.nan, math.nan], 2.0, False, "refuted"),
        ({3: 1.0, 5: 1.1, 9: math.nan}, 2.0, False, "upheld"),
    ],
)
def test_a_figure_is_beaten_if_the_whole_interval_is_better(values, figure, higher, verdict):
    assert rules.beats(values, figure, higher) == verdict


def test_one_of_several_parts_is_refuted_at_its_share_of_the_level():
    values = [1.0, 1.2, 0.8, 1.1, 0.9]
    assert rules.beats(values, 0.79, False, parts=1) == "refuted"
    assert rules.beats(values, 0.79, False, parts=20) == "undecided"
    assert rules.beats(values, 1.21, False, parts=20) == "upheld", "all parts must hold, so upholding needs no correction"


@pytest.mark.parametrize(
    ("shift", "noise", "better", "good"),
    [
        (-1.0, 0.01, "upheld", "upheld"),
        (1.0, 0.01, "refuted", "refuted"),
        (0.0, 0.01, "refuted", "upheld"),
        (0.05, 0.01, "refuted", "upheld"),  # certainly worse, but by less than the margin
        (0.0, 2.0, "undecided", "undecided"),
    ],
)
def test_differences_become_verdicts(shift, noise, better, good):
    first = {seed: float(seed) for seed in range(6)}
    other = {seed: value + shift + noise * (-1) ** seed for seed, value in first.items()}
    difference = judge({"first": first, "other": other}, VerdictRule(margin=0.1))["other"]
    assert rules.direction(difference) == better
    assert rules.as_good(difference) == good
    assert rules.direction(None) == rules.as_good(None) == "undecided"


def test_verdicts_on_parts_are_combined():
    assert rules.all_of("upheld", "upheld") == "upheld"
    assert rules.all_of("upheld", "undecided", "refuted") == "refuted"
    assert rules.all_of("upheld", "undecided") == rules.all_of() == "undecided"
    assert rules.any_of("refuted", "upheld") == "upheld"
    assert rules.any_of("refuted", "refuted") == "refuted"
    assert rules.within([1.0, 1.1, 0.9], 0.0, 2.0) == "upheld"
    assert rules.within([1.0, 1.1, 0.9], 3.0, 4.0) == "refuted"


def test_figures_are_written_with_their_interval():
    assert rules.format_with_seeds([1.0, 1.1, 0.9]) == "1.00 ± 0.25 (3 seeds)"
    assert rules.format_with_seeds({0: 0.5, 1: 0.5}, ".1f", 100) == "50.0 ± 0.0 (2 seeds)"
    assert rules.format_with_seeds([1.0, math.nan]) == "1 (1 seed, 1 more diverged)"
    assert rules.format_with_seeds([math.nan] * 2) == "diverged in each of 2 seeds"
    assert rules.format_with_seeds([]) == "not measured"
    assert rules.format_interval([1.0, 1.1, 0.9]) == "1.00 (95 % interval 0.75 to 1.25)"
