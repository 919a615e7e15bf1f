"""The claim additive-attention: its verdict on made-up values, ratios of costs, and a quick run."""

import pytest

from glasshouse.claims import step_timing, trials
from glasshouse.claims.attention import additive_attention
from glasshouse.claims.attention.additive_attention import (
    ADDITIVE,
    DOT,
    HEAD_WIDTHS,
    KINDS,
    AdditiveAgainstDotProduct,
    cost_arm,
)
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values, spread_values
from tests.claims.judging import judge, outcome


def values(at_8=-0.1, at_16=-0.1, ratios=(1.2, 1.4, 1.8, 2.2, 3.0), not_less=0.0, noise=0.001):
    """Additive attention changes the loss by these amounts at head widths 8 and 16, and a step takes these ratios."""
    series = {"not-less-memory": dict.fromkeys(HEAD_WIDTHS, not_less)}
    for width, change in ((8, at_8), (16, at_16)):
        series[f"loss/{width}/{DOT}"] = close_values(1.7, noise)
        series[f"loss/{width}/{ADDITIVE}"] = close_values(1.7 + change, noise, shift=2)
    for number, (width, ratio) in enumerate(zip(HEAD_WIDTHS, ratios, strict=True)):
        series[f"time/{width}"] = close_values(ratio, 0.01, shift=number)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"at_16": 0.1}, REFUTED),
        ({"at_8": -0.002}, TOO_SMALL),
        ({"noise": 0.5}, UNDECIDED),
        ({"ratios": (0.9, 1.4, 1.8, 2.2, 3.0)}, REFUTED),  # additive attention is faster with small heads
        ({"ratios": (1.005, 1.4, 1.8, 2.2, 3.0)}, TOO_SMALL),
        ({"ratios": (3.0, 1.4, 1.8, 2.2, 1.2)}, REFUTED),  # the additional time shrinks
        ({"not_less": 1.0}, REFUTED),
    ],
)
def test_additive_must_be_better_if_small_and_dearer_everywhere(changes, verdict):
    assert judge(AdditiveAgainstDotProduct, values(**changes)).verdict == verdict


def test_other_head_widths_and_a_fixed_initial_scale_are_shown_beside_it():
    beside = {
        f"loss/128/{DOT}": close_values(1.8),
        f"loss/128/{ADDITIVE}": close_values(1.9, shift=2),
        f"loss/8/{DOT}/1.0": close_values(1.6),
        f"loss/8/{ADDITIVE}/1.0": close_values(1.7, shift=2),
        "time/again": spread_values(1.0),
    }
    finding = judge(AdditiveAgainstDotProduct, {**values(), **beside})
    assert finding.verdict == UPHELD
    assert outcome(finding, "additive attention has the lower loss, head width 128") == REFUTED
    assert outcome(finding, "additive attention has the lower loss, head width 8", "initial scale 1.0") == REFUTED
    assert outcome(finding, "control: one arm under two names takes the same time") == UPHELD


def test_times_are_divided_round_by_round():
    seconds = {cost_arm(width, kind): [1.0, 2.0] for width in HEAD_WIDTHS for kind in KINDS}
    seconds |= {cost_arm(8, ADDITIVE): [3.0, 4.0], step_timing.AGAIN: [1.1, 2.2]}
    ratios = additive_attention.time_ratios(seconds)
    assert ratios["time/8"].values == {0: 3.0, 1: 2.0}
    assert ratios["time/128"].values == {0: 1.0, 1: 1.0}
    assert ratios["time/again"].values == pytest.approx({0: 1.1, 1: 1.1})


def test_a_head_width_without_less_memory_is_counted():
    memory = {cost_arm(width, kind): 200 if kind == ADDITIVE else 100 for width in HEAD_WIDTHS for kind in KINDS}
    memory[cost_arm(32, ADDITIVE)] = 100
    ratios = additive_attention.memory_ratios(memory)
    assert ratios["memory/8"].values == {0: 2.0}
    assert ratios["not-less-memory"].values == {8: 0.0, 16: 0.0, 32: 1.0, 64: 0.0, 128: 0.0}


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    trial = trials.try_claim("additive-attention", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(AdditiveAgainstDotProduct.quantities)
    assert series[f"loss/8/{DOT}"] in (series[f"loss/8/{DOT}/0.5"], series[f"loss/8/{DOT}/1.0"])
    assert series["not-less-memory"].values == dict.fromkeys(HEAD_WIDTHS, 0.0), "counted from shapes, on every machine"
    assert series["memory/128"].values[0] > series["memory/8"].values[0] > 1
