"""The claim nmt: its rule and its comparisons on made-up losses, and the bench that another claim shares with it."""

import pytest

from glasshouse.claims import rules
from glasshouse.claims.bench import Bench
from glasshouse.claims.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.claims.translation import nmt
from tests.claims.example_values import spread_values


def test_the_benefit_of_more_data_is_judged_in_pairs_of_seeds():
    assert rules.direction(nmt.benefit(spread_values(0.5), spread_values(0.3, shift=3))) == UPHELD
    assert rules.direction(nmt.benefit(spread_values(0.5), spread_values(0.6, shift=3))) == REFUTED
    same = spread_values(0.5, scale=3)
    assert rules.direction(nmt.benefit(same, same)) == REFUTED
    assert rules.direction(nmt.benefit({0: 0.5, 1: 0.6}, {0: 0.45, 1: 0.7})) == UNDECIDED


def test_the_additional_gain_of_the_wider_model_is_a_difference_of_differences():
    losses = {
        (32, "small"): {0: 1.0, 1: 1.0},
        (32, "large"): {0: 0.9, 1: 0.8},
        (64, "small"): {0: 0.8, 1: 0.8, 2: 0.1},
        (64, "large"): {0: 0.3, 1: 0.5},
    }
    assert nmt.interaction(losses) == pytest.approx({0: 0.4, 1: 0.1})


def test_a_measured_loss_is_below_or_above_the_reported_one_or_neither():
    assert nmt.compare_with_reported(spread_values(0.2), 0.478).endswith(": below")
    assert nmt.compare_with_reported(spread_values(0.9), 0.478).endswith(": above")
    assert nmt.compare_with_reported(spread_values(0.48), 0.478).endswith("neither clearly above nor below")


def test_the_loss_curves_use_the_folder_of_this_claim(tmp_path):
    bench = Bench(tmp_path / "claims" / "nmt-loss-plots", 2)
    quick_bench = Bench(tmp_path / "claims" / "nmt-loss-plots" / "quick", 2, quick=True)
    assert nmt.bench_of_nmt(bench).folder == tmp_path / "claims" / "nmt"
    assert nmt.bench_of_nmt(quick_bench).folder == tmp_path / "claims" / "nmt" / "quick"
