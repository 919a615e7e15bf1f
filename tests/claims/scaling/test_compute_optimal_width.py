"""The claim compute-optimal: its verdict on made-up values, the chosen smaller model, parabolas, and a quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.scaling import compute_optimal_width, equal_compute
from glasshouse.claims.scaling.compute_optimal_width import GIVEN, WIDTHS, ComputeOptimalWidth
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Series
from tests.claims.example_values import close_values, spread_values
from tests.claims.judging import judge


def values(smaller=0.2, ratio=2.0, noise=1.0):
    """The test loss of the smaller model, and log2 of the ratio of sizes; the given model has a loss of 0.4."""
    return {
        f"test.loss/{GIVEN}": spread_values(0.4, noise),
        "smaller": spread_values(smaller, noise, shift=3),
        "ratio": close_values(ratio),
    }


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (values(), UPHELD),
        (values(smaller=0.5), REFUTED),
        (values(ratio=-1.0), REFUTED),
        (values(smaller=0.395), TOO_SMALL),
        (values(ratio=0.3), TOO_SMALL),
        (values(noise=20), UNDECIDED),
    ],
)
def test_a_smaller_model_must_be_better_and_the_best_size_smaller(measured, verdict):
    assert judge(ComputeOptimalWidth, measured).verdict == verdict


def losses_with_best(best: float) -> dict[int, Series]:
    """Losses of two seeds on a parabola in log N with its minimum at this N."""
    return {
        width: Series(dict.fromkeys((7, 8), 0.1 + 0.05 * math.log(equal_compute.parameters(width) / best) ** 2))
        for width in WIDTHS
    }


def test_the_ratio_is_that_of_the_sizes():
    best = equal_compute.parameters(GIVEN) / 4
    parabolas = compute_optimal_width.fit_parabolas(losses_with_best(best))
    assert sorted(parabolas) == [7, 8]
    assert parabolas[7].inside
    assert compute_optimal_width.doublings_too_large(parabolas[7]) == pytest.approx(2.0)


def test_without_a_minimum_between_the_sizes_the_better_end_counts():
    for best, end in ((1e3, min(WIDTHS)), (1e8, max(WIDTHS))):
        parabola = compute_optimal_width.fit_parabolas(losses_with_best(best))[7]
        assert not parabola.inside
        expected = math.log2(equal_compute.parameters(GIVEN) / equal_compute.parameters(end))
        assert compute_optimal_width.doublings_too_large(parabola) == pytest.approx(expected)


def test_noise_favours_neither_larger_nor_smaller_sizes():
    given = equal_compute.parameters(GIVEN)
    sides = [math.log2(equal_compute.parameters(width) / given) for width in (WIDTHS[0], WIDTHS[-1])]
    assert sum(sides) == pytest.approx(0.0, abs=0.2)
    assert sides[1] > 2


def test_a_seed_that_diverged_at_one_width_has_no_parabola():
    losses = losses_with_best(1e5)
    losses[64] = Series({7: math.nan, 8: 0.1})
    assert list(compute_optimal_width.fit_parabolas(losses)) == [8]


def test_the_smaller_model_has_the_lower_mean_validation_loss():
    choose = compute_optimal_width.lower_on_average
    assert choose({64: Series({1: 0.3, 2: 0.5}), 48: Series({1: 0.2, 2: 0.4})}) == 48
    assert choose({64: Series({1: 0.3, 2: 0.5}), 48: Series({1: 0.2, 2: math.nan})}) == 64


@pytest.mark.slow
def test_a_quick_run_measures_everything(word_lists):
    trial = trials.try_claim("compute-optimal", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(ComputeOptimalWidth.quantities)
    chosen = dict(trial.measured.facts)["the smaller model, chosen on the validation words"].removeprefix("h ")
    assert series["smaller"].values == series[f"test.loss/{chosen}"].values
