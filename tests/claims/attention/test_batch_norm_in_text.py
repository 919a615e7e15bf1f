"""The claim batch-norm-in-text: its rule on made-up losses, and a whole quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.attention import batch_norm_in_text
from tests.claims.example_values import DIVERGED, close_values


@pytest.mark.parametrize(
    ("increases", "verdict"),
    [((0.3, 0.2, 0.1, 0.05), "upheld"), ((0.3, 0.2, 0.1, 0.0), "refuted"), ((0.3, 0.2, 0.1, -0.1), "refuted")],
)
def test_batch_norm_must_be_worse_at_every_batch_size(increases, verdict):
    sizes = batch_norm_in_text.BATCH_SIZES
    layer = {size: close_values(4.0) for size in sizes}
    batch = {size: close_values(4.0 + increase, shift=3) for size, increase in zip(sizes, increases, strict=True)}
    differences = batch_norm_in_text.against_layer_norm({"layer": layer, "batch": batch}, "batch")
    assert list(differences) == ["4", "16", "64", "256"]
    assert batch_norm_in_text.does_badly(differences) == verdict


def test_batch_norm_that_diverges_does_badly():
    layer = {4: close_values(4.0), 16: close_values(4.0)}
    batch = {4: DIVERGED, 16: close_values(4.2, shift=3)}
    differences = batch_norm_in_text.against_layer_norm({"layer": layer, "batch": batch}, "batch")
    assert batch_norm_in_text.does_badly(differences) == "upheld"


@pytest.mark.slow
def test_a_quick_run_gives_a_finding(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    case = trials.try_claim("batch-norm-in-text", quick=True, device="cpu")
    assert case.trial is not None
    finding = case.trial.finding
    assert finding.verdict == "undecided", "a quick run decides nothing"
    assert "batch size 4: " in finding.because
    assert any("statistics of the test batch" in row.what for row in finding.rows)
    assert (trials.claim_folder("batch-norm-in-text", True) / "norms.svg").stat().st_size > 1000
