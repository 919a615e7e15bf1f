"""The learning rate of each size: the best of a sweep, and the power law through two of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.scaling import rate_rule
from glasshouse.scaling.rate_rule import FACTORS, RateRule, SweptSize


@given(st.floats(-1.9, 1.9), st.floats(0.01, 5), st.floats(1e-4, 1e-1))
def test_the_minimum_of_a_parabola_in_log_rate_is_found(shift, curvature, recipe):
    best = recipe * 2**shift
    losses = {recipe * factor: 2 + curvature * math.log(recipe * factor / best) ** 2 for factor in FACTORS}
    found = rate_rule.best_rate(1e5, losses)
    assert found is not None
    assert found.rate == pytest.approx(best, rel=1e-3)
    assert not found.at_edge


def test_rates_that_diverge_are_left_out():
    losses = {1e-3: 2.0, 2e-3: 1.5, 4e-3: math.nan}
    assert rate_rule.best_rate(10, losses) == SweptSize(10, 2e-3, False)
    assert rate_rule.best_rate(10, {1e-3: 1.0, 2e-3: 1.5, 4e-3: 2.0}) == SweptSize(10, 1e-3, True)
    assert rate_rule.best_rate(10, {1e-3: math.nan}) is None


def test_the_rule_is_a_power_law():
    rule = RateRule(SweptSize(1e4, 8e-3, False), SweptSize(1e6, 8e-4, False))
    assert rule.exponent == pytest.approx(-0.5)
    assert rule.rate(1e5) == pytest.approx(8e-3 / math.sqrt(10), rel=0.01)
    assert "N^-0.50" in str(rule)
    assert "edge" not in str(rule)
    assert "edge" in str(RateRule(SweptSize(1e4, 8e-3, True), SweptSize(1e6, 8e-4, False)))
