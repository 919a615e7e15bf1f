"""The texts of a claim: symbols, answers, sentences, badges and rows."""

from dataclasses import replace

from glasshouse.pages import claim_text
from glasshouse.pages.claim_content import REFUTED, UPHELD
from tests.pages.example_claims import example_case, example_cases


def test_an_answer_is_one_plain_sentence():
    case, untried, control = example_cases()
    assert case.verdict == "depends"
    assert claim_text.answer(case) == "It depends. Reported rate: upheld; tuned rates: refuted."
    assert claim_text.answer(untried) == "No data; run: glasshouse claim two."
    assert claim_text.answer(replace(untried, missing="")) == "No trial has been made yet."
    unfinished = replace(case, trials=(replace(case.trials[0], measured=None, finding=None),))
    assert claim_text.answer(unfinished) == "A trial is registered and not finished yet."
    assert claim_text.verdict_text(case) == "± depends"
    assert claim_text.verdict_text(untried) == "– not tried"
    assert claim_text.verdict_counts([case, untried, control]) == [("depends", 2), ("not tried", 1)]


def test_a_part_is_told_with_its_values_interval_margin_and_outcome():
    case = example_case()
    trial = case.original
    sentences = [claim_text.part_sentence(trial, result) for result in trial.finding.parts]
    assert sentences[0].startswith("a is <lower>: 3.102 against 4.002 nats per token; difference -0.90")
    assert "margin 0.05: shown to be lower (p < 0.0001)." in sentences[0]
    assert "shown to be lower" in sentences[1], "the opposite of what this part claims"
    assert trial.finding.parts[1].outcome == REFUTED
    assert "90.0" in sentences[2]
    assert "against 50 %" in sentences[2]
    assert sentences[3] == "no text differs: 0 (must be 0)."
    assert "shown to be smaller than the margin" in sentences[4]
    assert trial.finding.parts[0].outcome == UPHELD


def test_badges_rows_and_bookkeeping():
    case = example_case()
    trial = case.original
    assert claim_text.badges(case) == ["course data", "8 seeds", "1 look", "reported rate", "tuned rates", "replicated"]
    assert claim_text.badges(replace(case, trials=case.trials[:1]))[-1] == "not replicated yet"
    rows = claim_text.value_rows(trial)
    assert rows[0][:2] == ("loss | of <a>, nats per token", "2")
    assert rows[0][2].endswith("(8 seeds)")
    assert rows[2][2].startswith("90.0")
    assert "seeds 1000 to 1007: depends" in claim_text.trial_sentence(trial)
    assert "replication of trial 1" in claim_text.trial_sentence(case.trials[1])
    assert claim_text.machine_text(trial) == "2023-11-14 22:13 UTC, an abacus, Python 3.11, torch 2"
    assert claim_text.date(-1) == claim_text.date(1e20) == ""
