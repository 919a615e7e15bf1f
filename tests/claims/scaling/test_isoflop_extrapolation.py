"""The claim isoflop: its verdict on made-up values, the law of a block of seeds, blocks without one, and a quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.scaling import isoflop_extrapolation
from glasshouse.claims.scaling.equal_compute import parameters
from glasshouse.claims.scaling.isoflop_extrapolation import BLOCK, BUDGETS, WIDTHS, IsoFLOPExtrapolation
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Series
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


@pytest.mark.parametrize(
    ("exponent", "size", "verdict"),
    [
        (close_values(0.4), close_values(10.1), UPHELD),
        (close_values(0.4), close_values(6.3), REFUTED),
        (close_values(-0.4), close_values(10.0), REFUTED),
        (close_values(0.05), close_values(10.0), TOO_SMALL),
        (close_values(0.4, noise=5.0), close_values(10.0), UNDECIDED),
    ],
)
def test_the_exponent_must_be_positive_and_the_extrapolated_size_as_reported(exponent, size, verdict):
    assert judge(IsoFLOPExtrapolation, {"exponent": exponent, "size": size}).verdict == verdict


def test_the_reported_exponent_does_not_decide():
    finding = judge(IsoFLOPExtrapolation, {"exponent": close_values(0.9), "size": close_values(10.0)})
    assert finding.verdict == UPHELD
    assert outcome(finding, "the exponent is 0.435") == REFUTED


def losses(exponent=0.3, seeds=2 * BLOCK, rising=()):
    """Losses on parabolas whose minima follow a power law; at the budgets `rising` the loss only rises with N."""
    found = {}
    for budget, flops in BUDGETS.items():
        best = 2e4 * (flops / 3.2e11) ** exponent
        for width in WIDTHS:
            place = math.log(parameters(width) / best)
            loss = 1 + 0.1 * place if budget in rising else 0.2 + 0.05 * place**2
            noise = {seed: 1e-4 * math.sin(seed + width) for seed in range(1000, 1000 + seeds)}
            found[f"loss/{budget}/{width}"] = Series({seed: loss + deviation for seed, deviation in noise.items()})
    return found


def test_a_block_of_seeds_gives_the_exponent_and_the_extrapolated_size():
    found = isoflop_extrapolation.fit_blocks(losses())
    assert list(found["exponent"].values) == [0, 1]
    assert found["exponent"].values[0] == pytest.approx(0.3, abs=0.01)
    expected = math.log10(2e4 * (1e15 / 3.2e11) ** 0.3)
    assert found["size"].values[1] == pytest.approx(expected, abs=0.05)
    assert found["best/3.2e11"].values[0] == pytest.approx(math.log10(2e4), abs=0.01)
    assert found["deviation/8e10"].values[0] < 0.001


def test_a_budget_without_a_minimum_is_left_out():
    found = isoflop_extrapolation.fit_blocks(losses(rising=("8e10",)))
    assert "best/8e10" not in found
    assert found["exponent"].values[0] == pytest.approx(0.3, abs=0.01)


def test_without_two_minima_nothing_is_measured_and_nothing_decided():
    found = isoflop_extrapolation.fit_blocks(losses(rising=tuple(BUDGETS)[1:]))
    assert "exponent" not in found
    assert "size" not in found
    assert judge(IsoFLOPExtrapolation, {"loss/8e10/16": close_values(1.0)}).verdict == UNDECIDED


def test_a_diverged_run_is_left_out_of_its_block():
    measured = losses()
    measured["loss/8e10/24"] = Series({**measured["loss/8e10/24"].values, 1000: math.nan})
    assert isoflop_extrapolation.fit_blocks(measured)["exponent"].values[0] == pytest.approx(0.3, abs=0.01)


@pytest.mark.slow
def test_a_quick_run_measures_the_losses_of_every_budget(word_lists):
    trial = trials.try_claim("isoflop", quick=True, device="cpu").trials[-1]
    measured = {key for key in trial.measured.series if key.startswith("loss/")}
    assert measured == {key for key in IsoFLOPExtrapolation.quantities if key.startswith("loss/")}
    facts = [what for what, _ in trial.measured.facts if what.startswith("a certain minimum")]
    assert len(facts) == len(BUDGETS)
