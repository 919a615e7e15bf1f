"""The texts of a claim: symbols, answers, sentences, badges and rows."""

import math
from dataclasses import replace

from glasshouse.pages import claim_text
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Quantity, Series, Trial
from tests.pages.example_claims import example_case, example_cases, example_trial


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
    assert claim_text.trial_sentence(trial).endswith("; 2023-11-14 22:13 UTC, an abacus, Python 3.11, torch 2")


def test_what_has_no_value_diverged_only_if_it_was_a_seed():
    series = Series({0: 1.0, 1: 1.5, 2: math.nan})
    assert claim_text.mean_text(series, Quantity("loss", "loss")).endswith("(2 seeds, 1 more diverged)")
    blocks = Quantity("exponent", "fit", per="block of 2 seeds")
    assert claim_text.mean_text(series, blocks).endswith("(2 blocks of 2 seeds, 1 more without a value)")


def test_a_page_describes_the_plan_that_was_tried_and_names_a_changed_one():
    case = example_case()
    plan = replace(case.trials[0].registration, number=3, digest="another", procedure="Three models are trained.")
    changed = replace(case, procedure=plan.procedure, trials=(*case.trials, Trial(plan, None, None)))
    assert claim_text.statement_and_procedure(changed)[1] == "Two models are trained."
    assert claim_text.badges(changed)[-1] == "a changed plan is registered as trial 3 and not finished"
    assert "changed plan" not in " ".join(claim_text.badges(case))
    new = replace(changed, trials=())
    assert claim_text.statement_and_procedure(new)[1] == "Three models are trained."


def test_what_depends_is_replicated_only_if_every_setting_has_the_same_verdict():
    case = example_case()
    assert case.verdict == DEPENDS
    assert case.replicated
    original, replication = case.trials
    assert original.finding
    assert replication.finding
    other = replace(replication.finding, by_setting=(("reported rate", UPHELD), ("tuned rates", TOO_SMALL)))
    assert original.finding.by_setting != other.by_setting
    assert replace(case, trials=(original, replace(replication, finding=other))).replicated is False


def test_an_open_comparison_says_whether_a_direction_is_shown():
    trial = example_trial()
    worse = next(result for result in trial.finding.parts if result.part.name == "near 0.9")
    for low, high, phrase in ((0.1, 0.7, "higher, but whether by more than the margin is open"), (-0.1, 0.7, "not decided")):
        result = replace(worse, outcome=UNDECIDED, low=low, high=high, p=0.5)
        sentence = claim_text.part_sentence(trial, result)
        assert sentence.endswith(f": {phrase}.")
