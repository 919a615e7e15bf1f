"""Sequential tests: p-values and levels over several looks agree with each other and with the normal case."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from glasshouse.verdicts import sequential_tests
from glasshouse.verdicts.sequential_tests import Look

pytestmark = pytest.mark.filterwarnings("error")

LOOKS = (4, 8, 12, 16)


def test_levels_agree_with_two_normal_looks():
    """With thousands of seeds t is normal, and the looks at half and at all of them have the correlation sqrt(1/2)."""
    looks = (5000, 10_000)
    levels = [sequential_tests.nominal_level(0.05, looks, look) for look in looks]
    assert levels[0] == pytest.approx(levels[1] * 0.5**sequential_tests.SHAPE)
    both = stats.multivariate_normal([0, 0], [[1, 0.5**0.5], [0.5**0.5, 1]])
    bounds = stats.norm.isf(np.array(levels) / 2)
    inside = both.cdf(bounds, lower_limit=-bounds)
    assert 0.048 < 1 - inside <= 0.05


@given(st.floats(0, 1), st.booleans())
def test_a_sequential_p_is_between_p_and_the_sum_over_the_looks(p, two_sided):
    last = LOOKS[-1]
    sequential = float(sequential_tests.sequential_p(p, LOOKS, last, two_sided))
    assert p <= sequential * (1 + 1e-9) + 1e-9
    assert sequential <= min(1.0, p * len(LOOKS) + 1e-12)
    assert float(sequential_tests.sequential_p(p, LOOKS, LOOKS[0], two_sided)) >= sequential
    assert float(sequential_tests.sequential_p(p, (last,), last, two_sided)) == p


def test_nominal_levels_invert_sequential_p_values_and_grow_with_the_seeds():
    levels = [sequential_tests.nominal_level(0.05, LOOKS, look) for look in LOOKS]
    assert levels == sorted(levels)
    for level, look in zip(levels, LOOKS, strict=True):
        assert sequential_tests.sequential_p(level, LOOKS, look) == pytest.approx(0.05, rel=1e-3)
    # For a quarter of alpha the nominal level is less than a quarter: dividing it by the number of arms would be invalid.
    assert sequential_tests.nominal_level(0.0125, LOOKS, 16) < 0.95 * levels[-1] / 4


def test_a_look_that_was_not_planned_is_added():
    assert Look.at((4, 8), 6).looks == (4, 6, 8)
    assert Look.at((4, 8), 8).looks == (4, 8)
