"""The claim feed-forward-ratio: its rules on made-up losses, the sizes of its models, and a whole quick run."""

import math

import pytest

from glasshouse import models
from glasshouse.claims import trials
from glasshouse.claims.attention import feed_forward_ratio
from glasshouse.models import parameter_counts
from glasshouse.specs import spec_files
from tests.claims.example_values import DIVERGED, NOISE, close_values


@pytest.mark.parametrize(
    ("at_1", "at_16", "verdict"),
    [(0.05, 0.05, "upheld"), (0.05, -0.05, "refuted"), (0.0, 0.05, "refuted")],
)
def test_ratios_1_and_16_must_both_be_worse_than_the_usual_ratios(at_1, at_16, verdict):
    inside = {2: close_values(1.59), 4: close_values(1.60), 8: close_values(1.61)}
    outside = {1: close_values(1.6 + at_1, shift=3), 16: close_values(1.6 + at_16, shift=5)}
    differences = feed_forward_ratio.against_usual({**inside, **outside})
    assert feed_forward_ratio.all_worse(differences) == verdict
    assert differences["16"].mean == pytest.approx(at_16, abs=1e-3), "against the mean of 2, 4 and 8"


@pytest.mark.parametrize(
    ("at_2", "at_3", "verdict"),
    [
        (close_values(1.65, shift=3), close_values(1.7, shift=5), "upheld"),
        (close_values(1.65, shift=3), DIVERGED, "upheld"),
        (close_values(1.65, shift=3), close_values(1.5, shift=5), "refuted"),
        (close_values(1.6, shift=3), close_values(1.7, shift=5), "refuted"),
        (close_values(1.65, 0.3, shift=3), close_values(1.7, shift=5), "undecided"),
    ],
)
def test_one_wide_inner_layer_must_beat_two_and_three_narrow_ones(at_2, at_3, verdict):
    differences = feed_forward_ratio.against_wide({1: close_values(1.6), 2: at_2, 3: at_3})
    assert list(differences) == ["2 of 128", "3 of 100"]
    assert feed_forward_ratio.all_worse(differences) == verdict


def test_refuting_one_of_the_two_statements_needs_half_the_level():
    # After Holm's correction the p-value is about 0.035: enough to uphold, but not to refute a claim of two statements.
    lower = {seed: 1.6 - 0.016 + 0.05 * NOISE[seed] for seed in range(8)}
    constant = dict.fromkeys(range(8), 1.6)
    differences = feed_forward_ratio.against_wide({1: constant, 2: lower, 3: lower})
    assert all(difference.word == "better" and 0.025 < difference.adjusted_p < 0.05 for difference in differences.values())
    assert feed_forward_ratio.all_worse(differences) == "undecided"
    assert feed_forward_ratio.all_worse(feed_forward_ratio.against_wide({1: lower, 2: constant, 3: constant})) == "upheld"


@pytest.mark.parametrize("count", feed_forward_ratio.SPEC_NAMES)
def test_narrow_inner_layers_have_as_many_parameters_as_the_wide_one(count, tmp_path):
    wide, narrow = (spec_files.load(feed_forward_ratio.write_spec(tmp_path, layers)).model for layers in (1, count))
    assert (narrow.width, narrow.own["feed_forward_layers"]) == (feed_forward_ratio.WIDTH, count)
    wide_count, narrow_count = (parameter_counts.parameters(models.build(spec, 90, 64)) for spec in (wide, narrow))
    assert narrow_count == pytest.approx(wide_count, rel=0.002)


def test_the_initialisation_with_the_lower_validation_loss_is_chosen():
    high, low = close_values(1.7), close_values(1.6)
    assert feed_forward_ratio.better_initialisation({"0.5": high, "1.0": low}) == "1.0"
    assert feed_forward_ratio.better_initialisation({"0.5": high, "1.0": {**low, 3: math.nan}}) == "0.5"
    assert feed_forward_ratio.better_initialisation({"0.5": DIVERGED, "1.0": low}) == "1.0"


@pytest.mark.slow
def test_a_quick_run_has_both_studies(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    finding = trials.try_claim("feed-forward-ratio", quick=True, device="cpu").trial.finding
    assert finding.verdict == "undecided", "a quick run decides nothing"
    assert finding.studies == ("ratios", "inner-layers")
    assert all(text in finding.because for text in ("Two to eight times the width: ", "One wide layer: ", "3 of 100: "))
    measured = {row.what: row.measured for row in finding.rows}
    assert sum(what.startswith("test loss, inner layers") for what in measured) == 6
    assert sum("the better of the two on the validation text" in text for text in measured.values()) == 3
    assert {"2 of 128 against 1 of 256", "3 of 100 against 1 of 256"} <= set(measured)
