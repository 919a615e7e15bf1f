"""The claim score-variance: its verdict on made-up values, the exact variance, the gradient norm, and a quick run."""

import itertools

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.attention import score_variance
from glasshouse.claims.attention.score_variance import ENTRY, RAW, SCALED, ScoreVariance
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(formula=0.0, scaled=1.0, top=0.95, gradient=0.24, loss=2.2, noise=0.001):
    return {
        "reported/1": dict.fromkeys(range(8), 0.0),
        "reported/other": dict.fromkeys(range(8), formula),
        f"variance/{SCALED}/4": close_values(1.0, noise),
        f"variance/{SCALED}/1024": close_values(scaled, noise, shift=1),
        f"top/{RAW}/1024": close_values(top, noise),
        f"top/{SCALED}/1024": close_values(0.16, noise, shift=2),
        "gradient/share": close_values(gradient, noise),
        f"loss/256/{RAW}": close_values(loss, noise),
        f"loss/256/{SCALED}": close_values(2.0, noise, shift=3),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"formula": 10.0}, REFUTED),
        ({"scaled": 2.0}, REFUTED),
        ({"top": 0.1}, REFUTED),
        ({"gradient": 0.9}, REFUTED),
        ({"loss": 1.9}, REFUTED),
        ({"loss": 2.001}, TOO_SMALL),
        ({"noise": 2.0}, UNDECIDED),
    ],
)
def test_formula_softmax_and_training_must_all_hold(changes, verdict):
    assert judge(ScoreVariance, values(**changes)).verdict == verdict


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_exact_variance_is_that_of_all_vectors(sigma, width):
    entries = (ENTRY * sigma / ENTRY.square().mean().sqrt()).tolist()
    vectors = [torch.tensor(row) for row in itertools.product(entries, repeat=width)]
    products = torch.stack([query @ key for query in vectors for key in vectors]).double()
    assert score_variance.exact_variance(sigma, width) == pytest.approx(float(products.var(unbiased=False)), rel=1e-5)
    assert score_variance.exact_variance(sigma, width) == pytest.approx(sigma**4 * width)


def test_the_norm_is_that_of_the_derivative():
    scores = torch.randn(5, generator=torch.Generator().manual_seed(0)).double()
    derivative = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores)
    norms = score_variance.gradient_norms(scores.softmax(-1)[None])
    assert float(norms[0]) == pytest.approx(float(derivative.norm()))
    assert float(score_variance.gradient_norms(torch.eye(4)[:1])[0]) == 0, "a saturated softmax has no gradient"


def test_the_reported_formula_fails_and_the_repaired_one_holds():
    found = score_variance.check(torch.Generator().manual_seed(0))
    series = {
        key: dict.fromkeys(range(8), value) for key, value in found.items() if key.startswith(("reported", "repaired"))
    }
    finding = judge(ScoreVariance, {**values(), **series})
    assert finding.verdict == REFUTED
    assert outcome(finding, "the variance is sigma * d_k, sigma = 1") == UPHELD
    assert outcome(finding, "the variance is sigma * d_k, sigma = 0.5 and 2") == REFUTED
    assert outcome(finding, "the variance is sigma * d_k, sigma read as the variance of an entry") == REFUTED
    assert outcome(finding, "repaired: the variance is sigma^4 * d_k for every sigma") == UPHELD
    assert outcome(finding, "repaired: with the scale it is sigma^4 at every head width") == UPHELD
    assert found[f"variance/{RAW}/256"] == pytest.approx(256, rel=0.1)


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    series = trials.try_claim("score-variance", quick=True, device="cpu").trials[-1].measured.series
    assert set(series) == set(ScoreVariance.quantities)
    assert series[f"loss/256/{RAW}"] != series[f"loss/256/{SCALED}"]
