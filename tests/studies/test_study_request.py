"""A request for a study: which study answers it, and under which name a new one is created."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glasshouse.specs.errors import RunError
from glasshouse.studies import arms, study_folder
from glasshouse.studies.study_folder import Design
from glasshouse.studies.study_options import Question, StudyOptions
from glasshouse.studies.study_planning import StudyRequest
from glasshouse.studies.study_request import find
from tests.refusals import refused
from tests.studies.example_studies import make_design

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
