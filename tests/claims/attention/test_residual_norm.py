"""The claim residual-norm: its verdict on made-up values, gradients of each layer, and a quick run."""

import math

import pytest
import torch

from glasshouse import models
from glasshouse.claims import trials
from glasshouse.claims.attention import residual_norm
from glasshouse.claims.attention.residual_norm import ARMS, NO_NORM, NO_RESIDUAL, POST, PRE, ResidualNorm
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Series
from glasshouse.specs.spec import ModelSpec
from tests.claims.example_values import DIVERGED, close_values
from tests.claims.judging import judge, outcome


def values(post=2.2, no_norm=2.5, no_residual=3.0, noise=0.001):
    """The test losses at 24 layers; pre-norm has 2.0."""
    losses = {PRE: 2.0, POST: post, NO_NORM: no_norm, NO_RESIDUAL: no_residual}
    return {f"loss/{arm}/24": close_values(loss, noise, shift=number) for number, (arm, loss) in enumerate(losses.items())}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"no_residual": 1.9}, REFUTED),
        ({"no_norm": 1.9}, REFUTED),
        ({"post": 1.9}, REFUTED),
        ({"post": 2.001}, TOO_SMALL),
        ({"noise": 3.0}, UNDECIDED),
    ],
)
def test_every_other_way_must_be_worse_at_24_layers(changes, verdict):
    assert judge(ResidualNorm, values(**changes)).verdict == verdict


def test_an_arm_that_diverges_with_every_seed_is_worse():
    assert judge(ResidualNorm, {**values(), f"loss/{NO_NORM}/24": DIVERGED}).verdict == UPHELD


def test_depth_and_gradients_are_shown_beside_it():
    beside = {
        f"gap/{NO_NORM}/2": close_values(0.5),
        f"gap/{NO_NORM}/24": close_values(0.1, shift=2),
        f"powers/{PRE}": close_values(0.0),
        f"powers/{NO_RESIDUAL}": close_values(12.0, shift=2),
    }
    finding = judge(ResidualNorm, {**values(), **beside})
    assert finding.verdict == UPHELD
    assert outcome(finding, "no norm: the gap to pre-norm grows from 2 to 24 layers") == REFUTED
    name = "before training, gradients vanish towards the first layer without residual connections"
    assert outcome(finding, name) == UPHELD


def test_differences_are_taken_seed_by_seed():
    found = residual_norm.differences(Series({1: 3.0, 2: math.nan}), Series({1: 1.0, 2: 1.0})).values
    assert found[1] == 2.0
    assert math.isnan(found[2])


def test_the_norms_are_those_of_the_gradients_of_each_block():
    model = models.build(ModelSpec(width=8, heads=2, layers=2), 5, 8).double()
    tokens = torch.arange(18).view(2, 9) % 5
    norms = residual_norm.gradient_norms(model, tokens)
    squares = [sum(float(p.grad.square().sum()) for p in block.parameters()) for block in model.blocks]
    assert norms == pytest.approx([square**0.5 for square in squares])
    assert min(norms) > 0


def test_powers_of_ten_lie_between_the_first_and_the_last_layer_of_each_arm():
    found = residual_norm.check(torch.Generator().manual_seed(0))
    for arm in ARMS:
        ratio = found[f"gradient/{arm}/24"] / found[f"gradient/{arm}/1"]
        assert found[f"powers/{arm}"] == pytest.approx(math.log10(ratio))
    assert len({found[f"gradient/{arm}/1"] for arm in ARMS}) == len(ARMS)


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    series = trials.try_claim("residual-norm", quick=True, device="cpu").trials[-1].measured.series
    assert set(series) == set(ResidualNorm.quantities)
    assert len({tuple(series[f"loss/{arm}/2"].values.values()) for arm in ARMS}) == len(ARMS)
