"""Registrations: what they fix, when two plans are the same, and what a changed file is told."""

import json
from dataclasses import replace

import pytest

from glasshouse.claims import registration
from glasshouse.claims.rules import lower
from glasshouse.specs.errors import DataError, GlasshouseError, RunError
from tests.claims.made_up_claim import MadeUpClaim
from tests.refusals import refused


@pytest.fixture
def plan(made_up):
    return registration.register("made-up", MadeUpClaim(), 1)


def test_a_registration_is_read_back_as_it_was_written(plan):
    text = json.dumps(registration.to_json(plan))
    assert registration.from_json(json.loads(text), "here") == plan
    assert plan.first_seed == 1000
    assert len(plan.digest) == 64
    assert set(plan.studies[0]["specs"]) == {"learned", "none"}, "the spec of every arm is fixed"


def test_the_digest_covers_the_plan_and_not_the_seeds(plan, made_up, monkeypatch):
    assert registration.register("made-up", MadeUpClaim(), 2, replicates=1).digest == plan.digest
    assert registration.register("made-up", MadeUpClaim(), 1, looks=(3, 6)).digest != plan.digest
    with monkeypatch.context() as patch:
        patch.setattr(MadeUpClaim, "parts", (lower("none", "learned", 0.1),))
        assert registration.register("made-up", MadeUpClaim(), 1).digest != plan.digest
    [study] = MadeUpClaim.studies
    monkeypatch.setattr(MadeUpClaim, "studies", (replace(study, words=(*study.words, "training.batch=8")),))
    assert registration.register("made-up", MadeUpClaim(), 1).digest != plan.digest


def test_a_changed_file_is_refused(plan):
    table = registration.to_json(plan)
    table["parts"][0]["margin"] = 9.0
    with refused(DataError, "here"):
        registration.from_json(table, "here")
    for broken in ({}, {**table, "parts": 3}, {**table, "format": "x"}, {**table, "more": 1}):
        with refused(DataError, "here"):
            registration.from_json(broken, "here")
    with refused(GlasshouseError, "99"):
        registration.from_json({**table, "format": 99}, "here")


def test_a_part_must_compare_what_is_measured(made_up, monkeypatch):
    monkeypatch.setattr(MadeUpClaim, "parts", (lower("nothing", "none", 0.1),))
    with refused(RunError, "nothing"):
        registration.register("made-up", MadeUpClaim(), 1)
