"""Trials: run, stored, continued and listed; quick runs, added seeds, missing data, and what is refused."""

import json
import os
from pathlib import Path

import pytest

import glasshouse
from glasshouse.claims import trials
from glasshouse.claims.claim import Finding
from glasshouse.pages.claim_content import Case, Trial
from glasshouse.specs.errors import Interrupted
from tests.claims.made_up_claim import MadeUpClaim
from tests.refusals import refused

FOLDER = Path("studies/claims/made-up")


def listed_case() -> Case:
    """The made-up claim in the list of all claims."""
    [case] = [case for case in glasshouse.list_claims() if case.name == "made-up"]
    return case


def test_a_claim_is_tried_once_and_its_finding_stored(made_up, monkeypatch):
    case = glasshouse.try_claim("made-up", device="cpu")
    assert case.verdict == "upheld"
    assert "3 runs of 4 steps" in case.trial.finding.because
    assert case.trial.seeds == 3
    assert [name for name, _ in case.pictures] == ["picture.svg"], "a missing picture is left out"
    assert (FOLDER / "positions" / "study.json").is_file()
    assert (FOLDER / "alone" / "spec.toml").is_file()
    assert "GLASSHOUSE_STUDIES" not in os.environ
    stored = json.loads((FOLDER / "finding.json").read_text())
    assert stored["finding"]["verdict"] == "upheld"
    assert stored["machine"]["device"] == "cpu"

    # Everything is stored, so nothing is trained again, and the list needs only the stored finding.
    monkeypatch.setattr("glasshouse.training.loop.train_group", None)
    assert glasshouse.try_claim("made-up", device="cpu").trial.finding == case.trial.finding
    assert listed_case().trial.finding == case.trial.finding

    # A claim whose study has changed says what to delete.
    monkeypatch.setattr(MadeUpClaim, "text", str(Path(MadeUpClaim.text).rename("other.txt")))
    with refused("study-exists"):
        glasshouse.try_claim("made-up", device="cpu")


def test_a_quick_run_decides_nothing_and_hides_no_trial(made_up):
    case = glasshouse.try_claim("made-up", quick=True, device="cpu")
    assert case.verdict == "undecided"
    assert "2 runs of 2 steps" in case.trial.finding.because
    assert "quick run" in case.trial.finding.scope
    assert case.trial.finding.notes[-1].endswith("would be: upheld")
    assert not (FOLDER / "finding.json").exists()
    assert listed_case().caveat == "a quick run"
    trials._write_trial(FOLDER, Trial(Finding("refuted", "so", "all"), 3, False, 1.7e9))
    case = listed_case()
    assert (case.verdict, case.caveat) == ("refuted", "")


def test_a_note_tells_of_seeds_that_were_added_later(made_up):
    glasshouse.try_claim("made-up", seeds=2, device="cpu")
    finding = glasshouse.try_claim("made-up", seeds=3, device="cpu").trial.finding
    assert "3 runs" not in finding.because, "cached numbers are not computed again"
    assert "(3 seeds)" in finding.rows[0].measured
    assert "added after 2 had been judged" in finding.notes[-1]


def test_an_interrupted_trial_names_the_command_that_continues_it(made_up, monkeypatch):
    def interrupt(self, bench):
        raise Interrupted(15, "stopped with 1 of 6 runs done, all saved", "glasshouse resume studies/x")

    monkeypatch.setattr(MadeUpClaim, "run_experiment", interrupt)
    with refused("interrupted", "--seeds", "--quick") as stopped:
        glasshouse.try_claim("made-up", seeds=4, quick=True)
    assert stopped.value.exit_status == 143
    assert "resume" not in str(stopped.value)


def test_bad_input_is_refused(made_up, monkeypatch):
    with refused("unknown-word", "'alibi-speed'"):
        glasshouse.try_claim("alibi-sped")
    for seeds in (1, 0):
        with refused("bad-seeds", f"{seeds}"):
            glasshouse.try_claim("made-up", seeds=seeds)
    FOLDER.mkdir(parents=True)
    (FOLDER / "finding.json").write_text("{")
    with refused("unreadable-finding"):
        glasshouse.list_claims()
    (FOLDER / "finding.json").write_text('{"format": 99}')
    with refused("newer-format"):
        glasshouse.list_claims()
    with pytest.raises(ValueError, match="'maybe' is not one of"):
        Finding("maybe", "", "")


def test_a_claim_without_its_data_is_undecided_and_names_the_command(made_up, monkeypatch):
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    monkeypatch.setattr(MadeUpClaim, "needs", ("speeches", "state-of-the-union"))
    case = glasshouse.try_claim("made-up")
    assert case.verdict == "undecided"
    assert "GLASSHOUSE_DATA=FOLDER glasshouse claim made-up" in case.trial.finding.because
    assert "state-of-the-union" not in case.trial.finding.because
    case = listed_case()
    assert (case.verdict, case.caveat) == ("undecided", "no data")
    # The finding of a trial that was run elsewhere is kept.
    trials._write_trial(FOLDER, Trial(Finding("refuted", "so", "all"), 3, False, 1.7e9))
    glasshouse.try_claim("made-up")
    assert listed_case().verdict == "refuted"
