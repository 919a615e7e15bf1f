"""The claim feed-forward-ratio: its verdict on made-up losses, the sizes of its models, and a quick run."""

import math

import pytest

from glasshouse import models
from glasshouse.claims import trials
from glasshouse.claims.attention import feed_forward_ratio
from glasshouse.claims.attention.feed_forward_ratio import FeedForwardRatio
from glasshouse.claims.claim import Series
from glasshouse.models import parameter_counts
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from glasshouse.runs import resolve_spec
from tests.claims.example_values import DIVERGED, close_values
from tests.claims.judging import judge


def values(at_1=0.05, at_16=0.05, two=0.05, three=0.1, noise=0.001):
    """Losses above those of the usual ratios, and above that of one wide layer."""
    return {
        "usual": close_values(1.6, noise),
        "ratio-4": close_values(1.6, noise),
        "ratio-1": close_values(1.6 + at_1, noise, shift=3),
        "ratio-16": close_values(1.6 + at_16, noise, shift=5),
        "layers-2": close_values(1.6 + two, noise, shift=2),
        "layers-3": close_values(1.6 + three, noise, shift=6),
    }


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        (values(), UPHELD),
        (values(at_16=-0.05), REFUTED),
        (values(at_1=0.0), TOO_SMALL),
        (values(two=-0.05), REFUTED),
        (values(three=0.001), TOO_SMALL),
        (values(noise=0.5), UNDECIDED),
        ({**values(), "layers-3": DIVERGED}, UPHELD),
    ],
)
def test_ratios_outside_and_narrow_layers_must_all_be_worse(losses, verdict):
    assert judge(FeedForwardRatio, losses).verdict == verdict


def test_the_usual_ratios_are_averaged_seed_by_seed():
    series = [Series({0: 1.0, 1: 2.0, 2: 5.0}), Series({0: 3.0, 1: math.nan})]
    mean = feed_forward_ratio.mean_series(series).values
    assert mean[0] == 2.0
    assert math.isnan(mean[1])
    assert set(mean) == {0, 1}


@pytest.mark.parametrize("count", [1, *feed_forward_ratio.NARROW])
def test_narrow_inner_layers_have_as_many_parameters_as_the_wide_one(count):
    wide, narrow = (resolve_spec.spec_of(*feed_forward_ratio.narrow_recipe(layers)).model for layers in (1, count))
    assert (narrow.width, narrow.own.get("feed_forward_layers", 1)) == (feed_forward_ratio.WIDTH, count)
    wide_count, narrow_count = (parameter_counts.parameters(models.build(spec, 90, 64)) for spec in (wide, narrow))
    assert narrow_count == pytest.approx(wide_count, rel=0.002)


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    trial = trials.try_claim("feed-forward-ratio", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(FeedForwardRatio.quantities)
    usual = sum(series[f"ratio-{ratio}/1.0"].values[0] for ratio in (2, 4, 8)) / 3
    assert series["usual/1.0"].values[0] == pytest.approx(usual)
    assert series["layers-3"] in (series["layers-3/0.5"], series["layers-3/1.0"])
