"""The study folder: written and read again, found, listed and locked; damaged folders are reported."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as rules
from hypothesis import strategies as st

from glasshouse.results.study import StudyRegistration
from glasshouse.specs.errors import GlasshouseError, RunError
from glasshouse.studies import study_folder
from glasshouse.studies.study_folder import Design, StudyFolder, Tuning
from glasshouse.studies.study_options import Question
from glasshouse.verdicts.verdict import VerdictRule
from tests.refusals import refused
from tests.studies.example_studies import make_design


@rules(max_examples=20)
@given(
    seeds=st.lists(st.integers(0, 10**6), min_size=2, max_size=5, unique=True),
    margin=st.none() | st.floats(1e-6, 10),
    looks=st.sets(st.integers(2, 64), max_size=3).map(sorted),
    finished=st.booleans(),
)
def test_a_design_is_read_as_it_was_written(
    seeds: list[int], margin: float | None, looks: list[int], finished: bool
) -> None:
    tuning = Tuning("training.learning_rate", {"layer": ["0.1", "0.3"]}, (5, 6), {"layer": {"0.1": 2.0}}, {"layer": "0.1"})
    design = make_design(
        "model.norm=layer,rms",
        seeds=tuple(seeds),
        rule=VerdictRule(margin=margin, looks=tuple(looks)),
        tuning=tuning,
        step_seconds={"layer": [0.1, 0.2]},
        judged=(2,),
        notes=("one", "two"),
        finished=finished,
        replicas="off",
        registered=StudyRegistration(1.7e9, "ab" * 32) if finished else None,
        replicates="norms",
        multiverse=finished,
    )
    design = replace(design, question=replace(design.question, items=finished))
    assert Design.from_json(json.loads(json.dumps(design.to_json())), "here") == design


def test_a_study_is_found_by_name_and_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(RunError):
        study_folder.find("norms")
    study = study_folder.create(make_design("model.norm=layer,rms"), "norms")
    study_folder.create(make_design("model.norm=layer,rms", created=1.6e9), "earlier")
    assert study.path == Path("studies/norms")
    assert study_folder.find("norms") == study_folder.find("studies/norms") == study
    assert [study.name for study in study_folder.all_studies()] == ["earlier", "norms"]
    with refused(RunError, "'norms'"):
        study_folder.find("norm")
    with pytest.raises(FileExistsError):
        study_folder.create(make_design("model.norm=layer,rms"), "norms")
    with refused(RunError, "'../norms'", "study"):
        study_folder.create(make_design("model.norm=layer,rms"), "../norms")
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "elsewhere"))
    assert study_folder.all_studies() == []
    assert study_folder.find("studies/norms").design() == study.design()


def test_the_command_line_reproduces_the_study() -> None:
    design = make_design("model.norm=layer,rms", "data.files=[my text.txt]", seeds=(0, 1, 2))
    assert design.command("x") == (
        "glasshouse compare demo-lm model.norm=layer,rms 'data.files=[my text.txt]' --seeds 3 --name x"
    )
    question = Question(
        kind="compare",
        words=("a", "b"),
        metric="test.loss",
        match="flops",
        tune="training.clip=1,2",
        alpha=0.01,
        margin=0.5,
        until_decided=True,
    )
    assert replace(design, question=question).command("x") == (
        "glasshouse compare a b --metric test.loss --match flops --tune training.clip=1,2 --alpha 0.01 --margin 0.5 "
        "--until-decided --name x"
    )
    precise = replace(question, alpha=0.0123456789, margin=1e-7 / 3)
    command = replace(design, question=precise, replicas="off").command("x")
    assert "--alpha 0.0123456789 --margin 3.3333333333333334e-08 " in command
    assert "--replicas off --name x" in command
    assert "--seeds 3,5" in replace(design, seeds=(3, 5)).command("x")
    checked = replace(
        design,
        question=replace(design.question, items=True),
        registered=StudyRegistration(1.0, ""),
        multiverse=True,
    )
    assert checked.command("x").endswith("--items --seeds 3 --register --multiverse --name x")
    replication = replace(checked, replicates="norms", seeds=(8, 9))
    expected = "glasshouse compare --seeds 8,9 --register --replicate norms --multiverse --name y"
    assert replication.command("y") == expected


def test_looks_are_fixed_beforehand() -> None:
    assert Question(kind="compare", words=(), until_decided=True, batch=4, max_seeds=16).looks == (4, 8, 12, 16)
    assert Question(kind="compare", words=(), until_decided=True, batch=4, max_seeds=10).looks == (4, 8, 10)
    assert Question(kind="compare", words=(), until_decided=True, batch=4, max_seeds=4).looks == (4,)
    assert Question(kind="compare", words=()).looks == ()
    design = make_design("model.norm=layer,rms", seeds=(5, 6, 7, 8))
    assert design.planned_seeds == (5, 6, 7, 8)
    growing = replace(design, question=replace(design.question, until_decided=True, batch=4, max_seeds=6))
    assert growing.planned_seeds == (5, 6, 7, 8, 9, 10)


def test_a_study_is_done_training_or_interrupted() -> None:
    study = study_folder.create(make_design("model.norm=layer,rms"), "norms")
    assert study.status() == "interrupted"
    with study.locked():
        assert study.status() == "training"
        with refused(RunError), StudyFolder(study.path).locked():
            pass
    study.write(replace(study.design(), finished=True))
    assert study.status() == "done"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", (RunError,)),
        ("[]", (RunError,)),
        ("{}", (RunError,)),
        ('{"format": 99}', (GlasshouseError,)),
        ('{"format": "x"}', (RunError,)),
    ],
)
def test_a_damaged_study_is_refused_with_the_reason(content: str, error: tuple[str, ...]) -> None:
    study = study_folder.create(make_design("model.norm=layer,rms"), "norms")
    (study.path / "study.json").write_text(content)
    with refused(*error) as caught:
        study.design()
    assert "\n" not in str(caught.value)
    assert study_folder.all_studies() == [study], "a damaged study is still listed"
