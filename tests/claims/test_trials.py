"""Trials: registered, run, continued, replicated and listed; quick runs, looks, missing data, and what is refused."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import glasshouse
from glasshouse.claims import trials
from glasshouse.claims.claim import Measurements
from glasshouse.results.claim import Case, Series
from glasshouse.specs.errors import Interrupted, RunError, SpecError
from tests.claims.made_up_claim import MadeUpClaim
from tests.refusals import refused

FOLDER = Path("studies/claims/made-up")


def listed_case() -> Case:
    """The made-up claim in the list of all claims."""
    [case] = [case for case in glasshouse.claims.list_claims() if case.name == "made-up"]
    return case


def test_a_trial_is_registered_before_its_first_run_and_done_once(made_up, monkeypatch):
    measure = MadeUpClaim.measure

    def measure_after_registration(self, bench):
        assert (FOLDER / "trial-1" / "registration.json").is_file(), "registered before anything is trained"
        return measure(self, bench)

    monkeypatch.setattr(MadeUpClaim, "measure", measure_after_registration)
    case = glasshouse.try_claim("made-up", device="cpu")
    assert case.verdict == "upheld"
    assert [result.units for result in case.original.finding.parts] == [3, 3, 1]
    assert (FOLDER / "trial-1" / "positions" / "study.json").is_file()
    assert "GLASSHOUSE_STUDIES" not in os.environ
    stored = json.loads((FOLDER / "trial-1" / "values.json").read_text())
    assert list(stored["series"]["none"]["values"]) == ["1000", "1001", "1002"]
    assert len(stored["series"]["learned"]["items"]) == 3
    assert stored["machine"]["device"] == "cpu"

    # Everything is stored, so nothing is trained again, and the list needs only the stored files.
    monkeypatch.setattr("glasshouse.training.loop.train_group", None)
    assert repr(glasshouse.try_claim("made-up", device="cpu")) == repr(case)
    assert repr(listed_case().original) == repr(case.original)


def test_a_plan_can_be_registered_long_before_it_is_run(made_up):
    case = glasshouse.try_claim("made-up", seeds=2, register_only=True)
    assert case.verdict == "not tried"
    assert case.trials[0].verdict == "unfinished"
    assert not (FOLDER / "trial-1" / "positions").exists()
    again = glasshouse.try_claim("made-up", seeds=2, device="cpu")
    assert len(again.trials) == 1
    assert again.trials[0].registration == case.trials[0].registration


@pytest.mark.slow
def test_a_changed_plan_and_a_replication_are_new_trials_beside_the_old_one(made_up, monkeypatch):
    glasshouse.try_claim("made-up", seeds=2, device="cpu")
    case = glasshouse.try_claim("made-up", seeds=2, replicate=True, device="cpu")
    assert [trial.registration.replicates for trial in case.trials] == [0, 1]
    assert case.replicated is True
    assert list(case.replication.measured.series["none"].values) == [2000, 2001], "seeds that were never used"
    [study] = MadeUpClaim.studies
    monkeypatch.setattr(MadeUpClaim, "studies", (replace(study, words=(*study.words, "training.batch=2")),))
    case = glasshouse.try_claim("made-up", seeds=2, device="cpu")
    assert len(case.trials) == 3
    assert case.original.registration.number == 3, "the newest plan decides"
    assert case.replicated is None
    assert len({trial.registration.digest for trial in case.trials}) == 2


def test_a_quick_run_is_no_trial(made_up):
    case = glasshouse.try_claim("made-up", quick=True, device="cpu")
    assert case.verdict == "not tried"
    assert case.trials[-1].measured.seeds == 2
    assert listed_case().trials == ()
    assert not (FOLDER / "trial-1").exists()


def test_looks_are_planned_and_stop_when_decided(made_up, monkeypatch):
    seen = []

    def measure(self, bench):
        seen.append(bench.seeds)
        # Undecided at the first look, decided at the second.
        spread = 9.0 if bench.seeds == 2 else 0.01
        values = {unit: 3.0 + spread * (-1) ** unit * (1 + unit / 9) for unit in range(bench.seeds)}
        same = Series(dict.fromkeys(values, 3.0))
        return Measurements({"learned": Series(values), "none": same, "missing": Series({0: 0.0})})

    monkeypatch.setattr(MadeUpClaim, "measure", measure)
    case = glasshouse.try_claim("made-up", seeds="2,8,16", device="cpu")
    assert seen == [2, 8]
    assert case.verdict == "upheld"
    assert case.original.measured.seeds == 8


def test_an_interrupted_trial_names_the_command_that_continues_it(made_up, monkeypatch):
    def interrupt(self, bench):
        raise Interrupted(15, "stopped with 1 of 6 runs done, all saved", "glasshouse resume studies/x")

    with monkeypatch.context() as patch:
        patch.setattr(MadeUpClaim, "measure", interrupt)
        with refused(Interrupted, "--seeds") as stopped:
            glasshouse.try_claim("made-up", seeds=2, device="cpu")
    assert stopped.value.exit_status == 143
    assert "resume" not in str(stopped.value)
    assert listed_case().trials[0].verdict == "unfinished"
    case = glasshouse.try_claim("made-up", seeds=2, device="cpu")
    assert [trial.registration.number for trial in case.trials] == [1], "the unfinished trial was continued"


def test_missing_data_are_named_and_nothing_kept_is_lost(made_up, monkeypatch):
    case = glasshouse.try_claim("made-up", device="cpu")
    monkeypatch.setattr(MadeUpClaim, "needs", ("speeches",))
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    with refused(RunError, "speeches", "GLASSHOUSE_DATA=FOLDER glasshouse claim made-up"):
        glasshouse.try_claim("made-up", device="cpu")
    assert listed_case().verdict == case.verdict
    assert "GLASSHOUSE_DATA=FOLDER" in listed_case().missing


def test_what_is_refused(made_up, monkeypatch):
    for seeds in ("0", "1", "x", "8,4", "", "100000"):
        with refused(SpecError, f"seeds='{seeds}'"):
            glasshouse.try_claim("made-up", seeds=seeds)
    with refused(RunError, "made-up"):
        glasshouse.try_claim("made-up", replicate=True)
    monkeypatch.setattr(MadeUpClaim, "measure", lambda self, bench: Measurements({"other": Series({})}))
    with refused(RunError, "other"):
        glasshouse.try_claim("made-up", device="cpu")
    (FOLDER / "trial-1" / "registration.json").write_text("{")
    with refused(RunError, "registration.json"):
        trials.read_trials("made-up")
