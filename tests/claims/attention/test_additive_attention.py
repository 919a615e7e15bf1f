"""The claim additive-attention: its rules for quality and for cost, on made-up values."""

from collections.abc import Mapping

import pytest

from glasshouse.claims.attention import additive_attention
from glasshouse.metrics.verdicts import judge_family
from tests.claims.example_values import close_values


@pytest.mark.parametrize(
    ("at_8", "at_16", "verdict"),
    [(-0.1, -0.1, "upheld"), (-0.1, 0.1, "refuted"), (-0.1, 0.0, "refuted"), (0.1, 0.1, "refuted")],
)
def test_additive_attention_must_be_better_at_every_small_head_width(at_8, at_16, verdict):
    changes = {"8": at_8, "16": at_16, "128": 0.3}
    pairs = {width: (close_values(2.0), close_values(2.0 + change, shift=2)) for width, change in changes.items()}
    assert additive_attention.better_with_small_heads(judge_family(pairs, additive_attention.RULE)) == verdict


def test_large_variation_between_seeds_leaves_it_undecided():
    pairs = {width: (close_values(2.0, 0.1), close_values(2.0, 0.1, shift=3)) for width in ("8", "16")}
    assert additive_attention.better_with_small_heads(judge_family(pairs, additive_attention.RULE)) == "undecided"


def make_costs(extra_seconds: Mapping[int, float], extra_bytes: int = 10) -> dict[str, dict]:
    """Costs of both kinds of attention. Dot-product attention takes 10 ms per step and 100 bytes at every head width."""
    costs = {}
    for width, seconds in extra_seconds.items():
        for kind, extra, memory in (("dot-product", 0.0, 100), ("additive", seconds, 100 + extra_bytes)):
            rounds = [0.010 + extra + 1e-5 * (number + width) * (kind == "additive") for number in range(5)]
            costs[additive_attention.arm_name(width, kind)] = {"seconds": rounds, "memory": memory}
    return costs


def test_dot_product_attention_must_be_cheaper_at_every_width_by_a_growing_gap():
    assert additive_attention.judge_costs(make_costs({8: 0.001, 128: 0.02}), (8, 128))[0] == "upheld"
    assert additive_attention.judge_costs(make_costs({8: 0.02, 128: 0.001}), (8, 128))[0] == "refuted", "the gap shrinks"
    assert additive_attention.judge_costs(make_costs({8: -0.005, 128: 0.02}), (8, 128))[0] == "refuted", "slower at 8"
    verdict, text = additive_attention.judge_costs(make_costs({8: 0.001, 128: 0.02}, extra_bytes=-1), (8, 128))
    assert verdict == "refuted", "more memory"
    assert "0.99 times the memory" in text
