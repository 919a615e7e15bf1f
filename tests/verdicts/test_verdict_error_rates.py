"""Error rates of verdicts in simulated studies: benchmarks/verdict_errors.py with few studies.

The thresholds leave room for another generator of random numbers.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from glasshouse.verdicts import statistics
from glasshouse.verdicts.verdict import VerdictRule, judge

pytestmark = pytest.mark.filterwarnings("error")

LOOKS = (4, 8, 12, 16)


@pytest.fixture(scope="module")
def simulation():
    """The module benchmarks/verdict_errors.py, which judges many studies in one call."""
    path = Path(__file__).parents[2] / "benchmarks" / "verdict_errors.py"
    specification = importlib.util.spec_from_file_location("verdict_errors", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_arms_without_an_effect_are_seldom_called_better_or_worse(simulation):
    """5,000 studies of five arms, tested once with 8 seeds, and tested at up to eight looks."""
    values = simulation.draw("normal", (5000, 5, 32), 0.5, np.random.default_rng(1))
    truth = np.zeros(4)
    judged = simulation.judge(values[..., :8])
    assert 0.025 < judged.false(truth).mean() < 0.06
    assert 0.94 < judged.covers(truth).mean() < 0.96
    result = simulation.decide_at_looks(values, truth, None, simulation.LOOKS)
    assert 0.02 < result.false.mean() < 0.06
    assert result.covers.mean() > 0.94
    # Without a correction for the looks the error is large.
    uncorrected = np.zeros(5000, dtype=bool)
    for look in simulation.LOOKS:
        uncorrected |= simulation.judge(values[..., :look]).false(truth)
    assert uncorrected.mean() > 0.09


def test_a_difference_at_the_margin_is_seldom_called_no_difference(simulation):
    """The margin is estimated. With a correlation of 0.8 and 16 seeds, a test that takes it for exact would fail."""
    values = simulation.draw("normal", (5000, 2, 16), 0.8, np.random.default_rng(2))
    values[:, 1] += 1.0
    assert 0.02 < simulation.judge(values).equivalent.mean() < 0.055
    mean, deviation = statistics.moments(values[:, 1] - values[:, 0])
    p_of_exact_margin = statistics.equivalence_p(mean, deviation, 16, values[:, 0].std(axis=-1, ddof=1))
    assert (p_of_exact_margin <= 0.05).mean() > 0.1
    values[:, 1] -= 1.0
    assert simulation.judge(values).equivalent.mean() > 0.97


@pytest.mark.slow
def test_arms_that_are_skewed_apart_are_judged_better_than_by_the_t_test(simulation):
    """4,000 studies of two arms with 16 seeds, and until decided."""
    values = simulation.draw("skewed apart", (4000, 2, 32), 0.0, np.random.default_rng(6))
    truth = np.zeros(1)
    plain, adjusted = (simulation.judge(values[..., :16], plain=plain).different.mean() for plain in (True, False))
    assert adjusted < 0.062 < plain + 0.004
    plain, adjusted = (
        simulation.decide_at_looks(values, truth, None, LOOKS + (32,), plain).different.mean() for plain in (True, False)
    )
    assert adjusted < plain - 0.015


@pytest.mark.parametrize("shape", ["skewed", "right or wrong"])
def test_arms_that_are_equal_over_the_population_of_items_are_seldom_called_different(simulation, shape, monkeypatch):
    monkeypatch.setattr(simulation, "ITEM_SETTINGS", [(shape, 0.3, 0.1), (shape, 1.0, 0.1)])
    monkeypatch.setattr(simulation, "ITEM_SEEDS", (8,))
    few, many = simulation.items(4000, np.random.default_rng(7))
    assert max(few["sampled"], many["sampled"]) < 0.07
    assert many["fixed"] > 0.15
    assert min(few["found"], many["found"]) > 0.4


def test_the_power_is_as_predicted(simulation):
    values = simulation.draw("normal", (5000, 2, 8), 0.0, np.random.default_rng(3))
    values[:, 1] += 2**0.5
    assert simulation.judge(values).different.mean() == pytest.approx(statistics.difference_power(1.0, 8, 0.05), abs=0.02)
    for correlation, seeds in ((0.0, 32), (0.8, 8)):
        values = simulation.draw("normal", (5000, 2, seeds), correlation, np.random.default_rng(4))
        predicted = statistics.equivalence_power(0.0, (2 * (1 - correlation)) ** 0.5, seeds, 1.0, 0.05, estimated=True)
        assert simulation.judge(values).equivalent.mean() == pytest.approx(predicted, abs=0.03)


@pytest.mark.parametrize("looks", [(), LOOKS])
@pytest.mark.parametrize("margin", [None, 0.9])
def test_the_simulation_judges_studies_as_the_program_does(simulation, looks, margin):
    values = simulation.draw("heavy tails", (30, 4, 8), 0.6, np.random.default_rng(5))
    values[:, 1] -= 2.0
    judged = simulation.judge(values, margin, looks)
    for study, table in enumerate(values):
        arms = {f"arm {arm}": dict(enumerate(row)) for arm, row in enumerate(table)}
        for number, difference in enumerate(judge(arms, VerdictRule(margin=margin, looks=looks)).values()):
            assert difference.mean == pytest.approx(judged.mean[study, number])
            assert difference.low == pytest.approx(judged.low[study, number])
            assert difference.high == pytest.approx(judged.high[study, number])
            expected = "undecided"
            if judged.equivalent[study, number]:
                expected = "no difference"
            elif judged.different[study, number]:
                expected = "better" if difference.mean < 0 else "worse"
            assert difference.word == expected
    assert judged.different.any()
    assert judged.equivalent.any()
