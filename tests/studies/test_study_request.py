"""A request for a study: which study answers it, and under which name a new one is created."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glasshouse.api import reports
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.studies import arms, study_folder, study_request, study_results
from glasshouse.studies.study_folder import FIRST_TUNING_SEED, Design, Tuning
from glasshouse.studies.study_options import Question, StudyOptions
from glasshouse.studies.study_planning import StudyRequest
from glasshouse.studies.study_request import find
from glasshouse.verdicts.verdict import VerdictRule
from tests.refusals import refused
from tests.studies.example_studies import make_design, planned_arms, write_study

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


BETTER = {"layer": [3.0, 3.1, 3.2], "rms": [2.0, 2.1, 2.2001]}
UNDECIDED = {"layer": [3.0, 3.1, 3.2], "rms": [2.0, 3.9, 3.3]}


def test_the_seeds_are_those_that_no_study_of_the_question_has_used() -> None:
    original = study_folder.create(make_design(NORMS, seeds=(0, 4, 9)), "norms")
    assert study_request.fresh_seeds(original, None) == (10, 11, 12)
    study_folder.create(make_design(NORMS, seeds=(10, 11, 12), replicates="norms"), "norms-replication")
    study_folder.create(make_design(NORMS, seeds=(50, 51)), "another")
    assert study_request.fresh_seeds(original, None) == (13, 14, 15)
    assert study_request.fresh_seeds(original, 5) == (13, 14, 15, 16, 17)
    assert study_request.fresh_seeds(original, "70,80") == (70, 80)
    with refused(SpecError, "11", "norms"):
        study_request.fresh_seeds(original, "70,11")


def test_a_sequential_study_reserves_all_the_seeds_of_its_looks() -> None:
    design = make_design(NORMS, seeds=(0, 1, 2, 3))
    original = study_folder.create(
        replace(design, question=replace(design.question, until_decided=True, batch=4, max_seeds=10)), "norms"
    )
    assert study_request.fresh_seeds(original, None) == (10, 11, 12, 13)


def test_tuning_has_fresh_seeds_too() -> None:
    untuned = study_folder.create(make_design(NORMS), "untuned")
    assert study_request.first_tuning_seed(untuned) == FIRST_TUNING_SEED
    seeds = (FIRST_TUNING_SEED, FIRST_TUNING_SEED + 1)
    tuning = Tuning("training.learning_rate", {"layer": ["0.1"], "rms": ["0.1"]}, seeds)
    original = study_folder.create(make_design(NORMS, tuning=tuning), "norms")
    assert study_request.first_tuning_seed(original) == FIRST_TUNING_SEED + 2
    again = replace(tuning, seeds=(FIRST_TUNING_SEED + 2, FIRST_TUNING_SEED + 3))
    study_folder.create(make_design(NORMS, tuning=again, seeds=(3, 4), replicates="norms"), "again")
    assert study_request.first_tuning_seed(original) == FIRST_TUNING_SEED + 4


def test_the_arms_are_those_of_the_original_whatever_became_of_the_recipe() -> None:
    arms = planned_arms(NORMS, "training.steps=77")
    original = study_folder.create(make_design(NORMS, arms=arms), "norms")
    variants = study_request.variants_of(original)
    assert [variant.name for variant in variants] == ["layer", "rms"]
    assert variants[0].spec.training.steps == 77
    assert [spec_files.to_toml(variant.spec) for variant in variants] == [arm.asked for arm in arms]


def test_a_replication_is_not_replicated() -> None:
    study_folder.create(make_design(NORMS), "norms")
    study_folder.create(make_design(NORMS, seeds=(3, 4), replicates="norms"), "again")
    assert study_request.find_original("norms").name == "norms"
    with refused(SpecError, "again", "--replicate norms"):
        study_request.find_original("again")
    with refused(RunError):
        study_request.find_original("nowhere")


def test_both_studies_say_whether_the_verdict_was_the_same() -> None:
    original = write_study("norms", make_design(NORMS, finished=True), BETTER)
    assert study_results.collect(original).replications == ()
    design = make_design(NORMS, seeds=(3, 4, 5), replicates="norms", finished=True)
    again = write_study("norms-replication", design, BETTER)
    other = write_study("second", replace(design, seeds=(6, 7, 8), created=1.8e9), UNDECIDED)
    same, differs = study_results.collect(original).replications
    assert (same.original, same.replication, same.words) == ("norms", "norms-replication", {"rms": ("better", "better")})
    assert differs.words == {"rms": ("better", "undecided")}
    assert study_results.collect(again).replications == (same,)
    assert study_results.collect(other).replications == (differs,)
    page = reports.write_study(original) and original.report_file.read_text()
    assert 'href="../norms-replication/report.html"' in page
    page = reports.write_study(again) and again.report_file.read_text()
    assert 'href="../norms/report.html"' in page


def test_a_replication_without_its_original_has_a_report() -> None:
    again = write_study("again", make_design(NORMS, replicates="gone"), BETTER)
    (outcome,) = reports.write_study(again).replications
    assert (outcome.original, outcome.words, outcome.finished) == ("gone", {}, False)
