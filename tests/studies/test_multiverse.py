"""The multiverse: which combinations of choices there are, their cost, and the verdicts in their cells."""

from dataclasses import replace

import pytest

from glasshouse.api import reports
from glasshouse.specs.errors import SpecError
from glasshouse.studies import arms, multiverse, study_folder, study_results
from glasshouse.studies.study_options import Question
from tests.refusals import refused
from tests.studies.example_studies import make_design, planned_arms, write_study

NORMS = "model.norm=layer,rms"
BETTER = {"layer": [3.0, 3.1, 3.2], "rms": [2.0, 2.1, 2.2001]}
UNDECIDED = {"layer": [3.0, 3.1, 3.2], "rms": [2.0, 3.9, 3.3]}


def found(*words: str, tune: str | None = None) -> list[multiverse.Universe]:
    return multiverse.universes(
        Question(kind="compare", words=words, tune=tune), arms.expand(arms.parse(("demo-lm", *words)))
    )


def test_the_study_itself_comes_first():
    main, *others = found(NORMS)
    assert main.main
    assert main.choices == {"learning rate": "reported", "initialisation": "0.5"}
    assert (main.tune, main.changes) == (None, ())
    assert [(other.tune, other.changes) for other in others] == [
        (None, ("model.initialisation=1",)),
        ("training.learning_rate", ()),
        ("training.learning_rate", ("model.initialisation=1",)),
    ]
    assert not any(other.main for other in others)
    assert len({universe.folder for universe in (main, *others)}) == 4


def test_a_tuned_study_has_the_reported_rate_as_another_choice():
    option = "training.learning_rate=1e-3,1e-2"
    main, *others = found(NORMS, tune=option)
    assert main.choices["learning rate"] == "tuned"
    assert [other.tune for other in others] == [None, None, option]


def test_what_varies_between_the_arms_is_no_choice():
    assert [u.choices for u in found("training.learning_rate=1e-3,1e-2")] == [
        {"initialisation": "0.5"},
        {"initialisation": "1"},
    ]
    assert [list(u.choices) for u in found("model.initialisation=0.5,1")] == [["learning rate"]] * 2
    three = found(NORMS, "model.initialisation=0.7")
    assert [u.choices["initialisation"] for u in three if u.tune is None] == ["0.7", "0.5", "1"]


def test_a_multiverse_that_cannot_be_is_refused():
    variants = arms.expand(arms.parse(("demo-lm", NORMS)))
    multiverse.check(Question(kind="compare", words=()), variants)
    multiverse.check(Question(kind="compare", words=(), tune="training.learning_rate=1,2"), variants)
    with refused(SpecError, "training.weight_decay"):
        multiverse.check(Question(kind="compare", words=(), tune="training.weight_decay=0,0.1"), variants)
    grid = ("training.learning_rate=1e-3,1e-2", "model.initialisation=0.5,1")
    with refused(SpecError):
        multiverse.check(Question(kind="compare", words=()), arms.expand(arms.parse(("demo-lm", *grid))))


def test_the_cost_counts_all_runs():
    design = make_design(NORMS)
    others = [universe for universe in found(NORMS) if not universe.main]
    text = multiverse.cost(design, others, tuning_runs=20)
    assert "3 more studies with 18 runs and 40 tuning runs, about 58 s" in text
    sequential = replace(design, question=replace(design.question, until_decided=True, batch=4, max_seeds=10))
    assert "up to 60 runs" in multiverse.cost(sequential, others, 20)


def test_the_arms_of_a_universe_have_its_changes():
    variants = arms.expand(arms.parse(("demo-lm", NORMS)))
    changed = multiverse.variants_of(found(NORMS)[1], variants)
    assert [variant.spec.model.initialisation for variant in changed] == [1.0, 1.0]
    assert [variant.name for variant in changed] == ["layer", "rms"]
    question = multiverse.question_of(
        found(NORMS)[2], Question(kind="compare", words=(), until_decided=True, batch=4, max_seeds=8, items=True)
    )
    assert (question.tune, question.looks, question.items) == ("training.learning_rate", (), True)


@pytest.fixture
def study() -> study_folder.StudyFolder:
    """A study with a multiverse in which the verdict depends on the split and on the learning rate."""
    design = make_design(NORMS, "training.steps=20", multiverse=True, finished=True)
    main = write_study("norms", design, BETTER, layer=BETTER["layer"], rms=UNDECIDED["rms"])
    for universe in multiverse.universes(design.question, arms.expand(arms.parse(("demo-lm", NORMS))))[1:]:
        inner = replace(design, arms=planned_arms(NORMS), multiverse=False)
        losses = UNDECIDED if universe.tune else BETTER
        write_study(universe.folder, inner, losses, main.path / multiverse.FOLDER, **BETTER)
    return main


def test_every_universe_is_judged_on_every_split(study):
    cells = study_results.collect(study).multiverse
    assert len(cells) == 8
    assert [cell.main for cell in cells] == [True] + [False] * 7
    words = {tuple(cell.choices.values()): cell.differences["rms"].word for cell in cells}
    assert words["reported", "0.5", "validation"] == "better"
    assert words["reported", "0.5", "test"] == "undecided"
    assert words["tuned", "1", "validation"] == "undecided"
    assert words["tuned", "1", "test"] == "better"
    page = reports.write_study(study) and study.report_file.read_text()
    assert "rms: better under 5 of 8 combinations of choices (undecided in 3)" in page
    assert "depends on the learning rate and the split" in page


def test_a_universe_without_runs_yet_is_left_out():
    design = make_design(NORMS, multiverse=True, finished=True)
    study = write_study("norms", design, BETTER)
    (cell,) = reports.write_study(study).multiverse
    assert cell.main
    assert cell.choices == {"learning rate": "reported", "initialisation": "0.5"}
    empty = study_folder.create(make_design(NORMS, multiverse=True), "empty")
    assert reports.write_study(empty).multiverse == ()
