"""A request for a study: which study answers it, and under which name a new one is created."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glasshouse.specs.errors import RunError
from glasshouse.studies import arms, study_folder, study_request
from glasshouse.studies.study_folder import Design, Tuning
from glasshouse.studies.study_options import Question, StudyOptions
from glasshouse.studies.study_planning import StudyRequest
from glasshouse.studies.study_request import find
from glasshouse.verdicts.verdict import VerdictRule
from tests.refusals import refused
from tests.studies.example_studies import make_design, planned_arms

NORMS = "model.norm=layer,rms"


def asked(**changes: Any) -> Question:
    return Question(kind="compare", words=("demo-lm", NORMS), **changes)


def request_for(design: Design, **changes: Any) -> StudyRequest:
    variants = arms.expand(arms.parse(("demo-lm", NORMS)))
    request = StudyRequest(design.question, StudyOptions(), variants, design.seeds, design.tuning, Path("studies"), "norms")
    return replace(request, **changes)


def test_the_same_question_has_the_same_study():
    design = make_design(NORMS)
    assert find(request_for(design)) == (None, "norms")
    study = study_folder.create(design, "norms")
    assert find(request_for(design)) == (study, "norms")
    assert find(request_for(design, seeds=(0, 1, 2, 3))) == (study, "norms"), "seeds are not part of the question"
    shortening = request_for(design, shortens_interval=True)
    assert find(shortening) == (study, "norms"), "an older study is continued with the interval of its recipes"


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"question": asked(items=True)}, "items"),
        ({"question": asked(alpha=0.01)}, "alpha"),
        ({"question": asked(until_decided=True)}, "until-decided"),
        ({"variants": arms.expand(arms.parse(("demo-lm", NORMS, "training.steps=7")))}, "training.steps"),
        ({"replicates": "another"}, "replication"),
    ],
)
def test_another_question_has_another_study(changes, value):
    design = make_design(NORMS)
    study_folder.create(design, "norms")
    assert find(request_for(design, **changes)) == (None, "norms-2")
    with refused(RunError, "norms", value):
        find(request_for(design, options=StudyOptions(name="norms"), **changes))


def test_a_replication_does_not_answer_the_question_of_its_original():
    study_folder.create(make_design(NORMS, replicates="gone"), "norms")
    with refused(RunError, "replication of gone"):
        find(request_for(make_design(NORMS), options=StudyOptions(name="norms")))
    (Path("studies") / "folder").mkdir()
    with refused(RunError, "not a study"):
        find(request_for(make_design(NORMS), options=StudyOptions(name="folder")))


TUNING = Tuning("training.learning_rate", {"layer": ["0.1", "0.3"], "rms": ["0.1", "0.3"]}, (5, 6))


def plan() -> Design:
    return make_design(NORMS, tuning=TUNING)


@pytest.mark.parametrize(
    "changed",
    [
        replace(plan(), question=Question(kind="compare", words=("demo-lm", "model.norm=layer,rms", "model.width=64"))),
        replace(plan(), question=replace(plan().question, items=True)),
        replace(plan(), question=replace(plan().question, match="flops")),
        make_design(NORMS, "training.steps=7", question=plan().question, tuning=TUNING),
        replace(plan(), arms=planned_arms("model.norm=rms,layer")),
        replace(plan(), seeds=(0, 1, 3)),
        replace(plan(), metric="test.loss"),
        replace(plan(), metric="validation.bits_per_byte"),
        replace(plan(), rule=VerdictRule(alpha=0.01)),
        replace(plan(), rule=VerdictRule(margin=0.1)),
        replace(plan(), rule=VerdictRule(looks=(2, 3))),
        replace(plan(), tuning=None),
        replace(plan(), tuning=replace(TUNING, values={**TUNING.values, "rms": ["0.1", "0.9"]})),
        replace(plan(), tuning=replace(TUNING, seeds=(7, 8))),
        replace(plan(), replicates="norms"),
        replace(plan(), shortens_interval=True),
        replace(plan(), arms=tuple(replace(arm, facts={**arm.facts, "data": "other"}) for arm in plan().arms)),
    ],
)
def test_the_digest_covers_what_a_verdict_depends_on(changed: Design) -> None:
    assert study_request.digest(changed) != study_request.digest(plan())


def test_the_digest_does_not_change_while_the_study_runs() -> None:
    """Tuning puts its values into the specs, and a sequential study grows."""
    design = plan()
    tuned = replace(TUNING, found={"layer": {"0.1": 2.0}}, chosen={"layer": "0.1", "rms": "0.3"})
    specs = tuple(
        replace(arm, spec=replace(arm.spec, training=replace(arm.spec.training, learning_rate=0.1))) for arm in design.arms
    )
    later = replace(design, tuning=tuned, arms=specs, notes=("a note",), finished=True, judged=(2,), created=1.0)
    assert study_request.digest(later) == study_request.digest(design)
    growing = replace(design, question=replace(design.question, until_decided=True, batch=2, max_seeds=6), seeds=(0, 1))
    assert study_request.digest(replace(growing, seeds=(0, 1, 2, 3))) == study_request.digest(growing)


def test_a_plan_that_was_changed_after_its_registration_is_refused() -> None:
    design = plan()
    registered = study_request.registered(design)
    study = study_folder.create(registered, "norms")
    assert study.design().registered == registered.registered
    study_request.check_registration(study, study.design())
    with refused(RunError, registered.registered.digest[:12]):
        study_request.check_registration(study, replace(study.design(), rule=VerdictRule(margin=1.0)))
    study_request.check_registration(study, replace(design, rule=VerdictRule(margin=1.0)))
