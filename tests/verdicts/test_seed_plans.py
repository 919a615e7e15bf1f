"""Plans before the first run: the two functions invert each other, and more arms or looks need more."""

import pytest

from glasshouse.verdicts import statistics
from glasshouse.verdicts.seed_plans import seeds_to_find, smallest_difference
from glasshouse.verdicts.sequential_tests import Look

LOOKS = (4, 8, 16)


@pytest.mark.parametrize("looks", [(), LOOKS])
@pytest.mark.parametrize("arms", [2, 5])
def test_the_number_of_seeds_inverts_the_smallest_difference(arms, looks):
    for seeds in (4, 8, 16):
        difference = smallest_difference(0.3, seeds, arms, looks)
        assert seeds_to_find(difference * 1.0001, 0.3, arms, looks) == seeds
        assert seeds_to_find(difference * 0.999, 0.3, arms, looks) == seeds + 1


def test_the_smallest_difference_is_found_four_times_in_five():
    level = Look(LOOKS, 8).level(0.05 / 2)
    difference = smallest_difference(2.0, 8, 3, LOOKS)
    assert statistics.difference_power(difference / 2, 8, level, Look(LOOKS, 8).strength) == pytest.approx(0.8)


def test_more_arms_and_looks_need_larger_differences_and_more_seeds():
    plans = [{}, {"arms": 4}, {"arms": 4, "looks": LOOKS}]
    differences = [smallest_difference(1.0, 12, **plan) for plan in plans]
    fewest, more, most = (seeds_to_find(0.6, 1.0, **plan) for plan in plans)
    assert differences == sorted(differences)
    assert fewest < more < most


def test_differences_without_spread_and_without_size_have_plain_answers():
    assert seeds_to_find(0.1, 0.0) == 2
    assert seeds_to_find(0.0, 0.0) is None
    assert seeds_to_find(0.001, 1.0) is None
    assert smallest_difference(0.0, 5) == 0
