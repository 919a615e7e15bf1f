"""Planning of a study: the notes on the study as a whole, and the interval of evaluations that its arms share."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from glasshouse.studies import arms, study_planning
from glasshouse.studies.matching import MatchedArms
from glasshouse.studies.study_folder import Design
from glasshouse.studies.study_options import Question, StudyOptions
from glasshouse.studies.study_planning import StudyRequest
from glasshouse.training import cost_plan
from tests.training import small_runs


@pytest.mark.parametrize(("field", "same"), [("training.batch=4,8", False), ("model.layers=1,2", True)])
def test_the_note_on_batches_follows_the_specs(match: Callable[..., MatchedArms], field: str, same: bool) -> None:
    """The specs decide, because recipes may differ in fields that the command does not vary."""
    question = Question(kind="compare", words=())
    notes = list(study_planning._notes(question, "validation.loss", match("steps", field).jobs, []))
    assert ("arms of one seed read the same batches in the same order" in notes) == same
    assert any("the arms read different batches" in note for note in notes) != same


def plan(text: Path, *words: str, shortens_interval: bool = True) -> Design:
    small = [word for word in small_runs.DEMO if not word.startswith("evaluation.every")]
    question = Question(kind="compare", words=("demo-lm", *small, f"data.files={text}", *words))
    variants = arms.expand(arms.parse(question.words))
    options = StudyOptions(replicas="off")
    request = StudyRequest(question, options, variants, (0, 1), None, Path(), shortens_interval=shortens_interval)
    return study_planning.make_design(request, "cpu")


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    file = tmp_path / "text.txt"
    file.write_text("the cat sat on the mat and looked at the dog; " * 200)
    return file


def test_the_arms_share_an_interval_of_eight_evaluations(text: Path) -> None:
    design = plan(text, "training.steps=160,400", "evaluation.tokens=100")
    assert [arm.spec.evaluation.every for arm in design.arms] == [20, 20]
    assert any(note.startswith("evaluated every 20 steps") for note in design.notes)
    assert all("every = 200" in arm.asked for arm in design.arms), "the same question continues an older study"
    assert Design.from_json(json.loads(json.dumps(design.to_json())), "").shortens_interval


@pytest.mark.parametrize("words", [("evaluation.every=90",), ("training.patience=3",), ("evaluation.every=50,80",)])
def test_an_interval_that_counts_for_something_else_stays(text: Path, words: tuple[str, ...]) -> None:
    design = plan(text, "training.steps=160", "model.norm=layer,rms", *words)
    assert {arm.spec.evaluation.every for arm in design.arms} <= {50, 80, 90, 200}
    assert not any("evaluated every" in note for note in design.notes)


def test_a_claim_keeps_the_interval_of_its_recipe(text: Path) -> None:
    design = plan(text, "training.steps=160", "model.norm=layer,rms", shortens_interval=False)
    assert {arm.spec.evaluation.every for arm in design.arms} == {200}
