"""The claim unfreezing: its rules on made-up accuracies, its settings on real recipes, and a whole quick run."""

from glasshouse.claims import rules, trials
from glasshouse.claims.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.claims.pretraining import unfreezing
from tests.claims.example_values import spread_values


def test_gradual_unfreezing_may_be_worse_by_less_than_the_margin():
    accuracy = {
        unfreezing.ALL: spread_values(0.93),
        unfreezing.HEAD: spread_values(0.86),
        unfreezing.GRADUAL: spread_values(0.928, shift=2),
    }
    assert rules.as_good(unfreezing.gradual_against(accuracy, unfreezing.ALL, unfreezing.MARGIN)) == UPHELD
    assert rules.direction(unfreezing.gradual_against(accuracy, unfreezing.HEAD)) == UPHELD
    accuracy[unfreezing.GRADUAL] = spread_values(0.85, shift=2)
    assert rules.as_good(unfreezing.gradual_against(accuracy, unfreezing.ALL, unfreezing.MARGIN)) == REFUTED


def test_settings_are_tried_on_a_model_and_a_refusal_is_reported():
    accepted, text = unfreezing.try_settings("presidents")
    assert accepted
    assert "gradual" in text
    accepted, text = unfreezing.try_settings("demo-lm")  # its head is tied to the embedding
    assert not accepted
    assert "head only refused" in text


def test_a_quick_run_gives_a_finding_in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    case = trials.try_claim("unfreezing", quick=True, device="cpu")
    assert case.trial is not None
    finding = case.trial.finding
    assert finding.verdict == UNDECIDED
    assert "quick run" in finding.scope
    measured = {row.what: row.measured for row in finding.rows}
    assert measured["always the most frequent class, % of the test file right"] == "76.2"
    assert "(2 seeds)" in measured["test accuracy, %, gradual"]
    assert (tmp_path / "studies/claims/unfreezing/quick/fine-tuning/study.json").exists()
