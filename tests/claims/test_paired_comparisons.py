"""Paired comparisons: families of differences are corrected together, and differences as text."""

import pytest

from glasshouse.claims import paired_comparisons
from glasshouse.metrics.verdicts import VerdictRule, judge_family
from tests.claims.example_values import DIVERGED, NOISE, close_values


def test_a_family_is_corrected_together():
    # The p-value of about 0.03 suffices for one question, but not together with three questions that show nothing.
    slight = {seed: 1.0 + 0.03 * NOISE[seed] + 0.0085 for seed in range(8)}
    same = dict.fromkeys(range(8), 1.0)
    alone = judge_family({"slight": (same, slight)}, VerdictRule(margin=1e-9))
    others = {f"other {shift}": (close_values(1.0, 0.1, shift), close_values(1.0, 0.1, shift + 3)) for shift in range(3)}
    together = judge_family({"slight": (same, slight), **others}, VerdictRule(margin=1e-9))
    assert 0.01 < alone["slight"].p < 0.05
    assert alone["slight"].word == "worse"
    assert together["slight"].word == "undecided"
    assert together["slight"].adjusted_p == pytest.approx(4 * alone["slight"].p)


def test_the_side_that_diverged_in_every_seed_is_worse():
    differences = judge_family(
        {"a": (close_values(1.0), DIVERGED), "b": (DIVERGED, close_values(1.0)), "c": (DIVERGED, DIVERGED)}, VerdictRule()
    )
    assert [difference.word for difference in differences.values()] == ["worse", "better", "undecided"]
    assert "diverged in every seed" in paired_comparisons.describe(differences["a"])
    assert "too few" in paired_comparisons.describe(differences["c"])


def test_a_difference_is_described_by_its_size_without_a_sign():
    pairs = {
        "lower": (close_values(2.0), close_values(1.5, shift=3)),
        "same": (close_values(1.0), close_values(1.0, shift=3)),
    }
    differences = judge_family(pairs, VerdictRule(margin=0.1))
    assert paired_comparisons.describe(differences["lower"]).startswith("better by 0.50")
    assert "no difference larger than 0.1" in paired_comparisons.describe(differences["same"])
    assert "interval -" not in paired_comparisons.describe(differences["lower"])
    assert paired_comparisons.describe(differences["lower"], 100).startswith("better by 50.0")
