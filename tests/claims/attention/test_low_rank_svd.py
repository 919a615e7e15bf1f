"""The claim low-rank-svd: its exact checks, its verdict on made-up values, and a quick run."""

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.attention import low_rank_svd
from glasshouse.claims.attention.low_rank_svd import FACTORS, LowRankSVD
from glasshouse.results.claim import REFUTED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


@pytest.mark.parametrize("seed", range(5))
def test_the_product_is_right_and_costs_n_k_d(seed):
    assert low_rank_svd.check_product(torch.Generator().manual_seed(seed)) == {"identity": 0.0, "width": 1.0, "nkd": 0.0}


def test_too_few_factors_do_not_give_the_product(monkeypatch):
    def forgetful(factors, values):
        left, right = factors
        return left[:, :-1] @ (right[:-1] @ values)

    monkeypatch.setattr(low_rank_svd, "multiply", forgetful)
    found = [low_rank_svd.check_product(torch.Generator().manual_seed(seed)) for seed in range(5)]
    assert all(row["identity"] > 0 for row in found)
    assert all(row["nkd"] == 1 for row in found)


@pytest.mark.parametrize(("width", "exponent", "verdict"), [(0.0, 1.0, UPHELD), (1.0, 1.0, REFUTED), (0.0, 2.0, REFUTED)])
def test_the_reported_cost_is_refuted_if_it_depends_on_the_width(width, exponent, verdict):
    values = {
        "identity": dict.fromkeys(range(16), 0.0),
        "width": dict.fromkeys(range(16), width),
        "nkd": dict.fromkeys(range(16), 0.0),
        f"exponent/{FACTORS}": close_values(exponent, 0.05),
    }
    finding = judge(LowRankSVD, values)
    assert finding.verdict == verdict
    assert outcome(finding, "repaired: the operations are 4 n k d") == UPHELD


@pytest.mark.slow
def test_a_quick_run_measures_products_and_maps():
    series = trials.try_claim("low-rank-svd", quick=True, device="cpu").trials[-1].measured.series
    assert {"identity", f"exponent/{FACTORS}", "share/encoder/trained/1", "energy/decoder/untrained/8"} <= set(series)
