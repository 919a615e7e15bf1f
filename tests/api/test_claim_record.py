"""The record of trials: written, added to, and checked against what the program computes again."""

import json
from pathlib import Path

import glasshouse
from glasshouse.api import claim_record as record
from glasshouse.claims.claim import GROUPS
from glasshouse.specs import catalogue
from glasshouse.specs.errors import RunError
from tests.refusals import refused

RECORD = Path("record")


def test_every_page_follows_from_the_record(made_up, monkeypatch):
    glasshouse.try_claim("made-up", seeds=2, device="cpu")
    assert glasshouse.claims.claims_report(RECORD) == RECORD
    assert (RECORD / "registry" / "made-up-1.json").is_file()
    assert (RECORD / "values" / "made-up-1.json").is_file()
    assert glasshouse.claims.check_claims(RECORD) == []
    # A trial made later, and elsewhere, is added beside the first.
    glasshouse.try_claim("made-up", seeds=2, replicate=True, device="cpu")
    glasshouse.claims.claims_report(RECORD)
    assert (RECORD / "values" / "made-up-2.json").is_file()
    monkeypatch.setenv("GLASSHOUSE_STUDIES", "elsewhere")
    assert glasshouse.claims.check_claims(RECORD) == []
    [case] = [case for case in record.cases_with(RECORD) if case.name == "made-up"]
    assert case.replicated is True

    page = RECORD / "made-up.md"
    text = page.read_text()
    page.write_text(text.replace("upheld", "refuted", 1))
    [fault] = glasshouse.claims.check_claims(RECORD)
    assert "made-up.md: line" in fault
    page.write_text(text)
    values = RECORD / "values" / "made-up-1.json"
    table = json.loads(values.read_text())
    table["series"]["none"]["values"]["1000"] += 0.5
    values.write_text(json.dumps(table))
    assert any("made-up.md" in fault for fault in glasshouse.claims.check_claims(RECORD)), "a changed value changes the page"
    (RECORD / "stray.md").write_text("by hand")
    assert any("stray.md is not made from the record" in fault for fault in glasshouse.claims.check_claims(RECORD))


def test_a_trial_that_was_recorded_when_it_was_registered_gets_its_values_later(made_up):
    glasshouse.try_claim("made-up", seeds=2, register_only=True)
    glasshouse.claims.claims_report(RECORD)
    registered = (RECORD / "registry" / "made-up-1.json").read_text()
    assert "unfinished" in (RECORD / "made-up.md").read_text()
    assert not (RECORD / "values" / "made-up-1.json").exists()
    glasshouse.try_claim("made-up", seeds=2, device="cpu")
    glasshouse.claims.claims_report(RECORD)
    assert (RECORD / "values" / "made-up-1.json").is_file()
    assert not (RECORD / "registry" / "made-up-2.json").exists()
    assert (RECORD / "registry" / "made-up-1.json").read_text() == registered
    assert glasshouse.claims.check_claims(RECORD) == []


def test_earlier_trials_are_listed(made_up):
    RECORD.mkdir()
    (RECORD / "earlier.json").write_text(json.dumps({"made-up": ["8 seeds, undecided"]}))
    glasshouse.try_claim("made-up", seeds=2, device="cpu")
    glasshouse.claims.claims_report(RECORD)
    assert "before registration was required: 8 seeds, undecided" in (RECORD / "made-up.md").read_text()


def test_a_folder_without_a_record_is_refused(tmp_path):
    with refused(RunError, str(tmp_path)):
        glasshouse.claims.check_claims(tmp_path)


def test_every_claim_belongs_to_a_group():
    claims = [catalogue.find("claim", name) for name in catalogue.names("claim")]
    assert len([claim for claim in claims if not claim.is_control]) == 65
    assert {claim.group for claim in claims} == set(GROUPS)
