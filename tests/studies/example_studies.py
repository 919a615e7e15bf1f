"""Designs and finished run folders that the study tests use instead of training."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from glasshouse.records import run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import spec_files
from glasshouse.studies import arms, study_folder
from glasshouse.studies.study_folder import Design, PlannedArm, StudyFolder
from glasshouse.studies.study_options import Question
from glasshouse.verdicts.verdict import VerdictRule

PLAN = {"parameters": {"all": 10}, "steps": 20, "tokens": 1280, "flops": 5, "seconds": 1.0, "memory": {"weights": 40}}


def planned_arms(*words: str) -> tuple[PlannedArm, ...]:
    """Arms before their runs."""
    return tuple(
        PlannedArm(v.name, v.folder, v.recipe, v.changes, spec_files.to_toml(v.spec), v.spec, {"plan": PLAN}, 1, ("a note",))
        for v in arms.expand(arms.parse(("demo-lm", *words)))
    )


def make_design(*words: str, **changes: object) -> Design:
    """A design with three seeds; `changes` replace its fields."""
    question = Question(kind="compare", words=("demo-lm", *words))
    design = Design(1.7e9, question, planned_arms(*words), (0, 1, 2), "validation.loss", VerdictRule())
    return replace(design, **changes)


def write_run(run: RunFolder, spec: object, value: float | None, status: str = "done", test: float | None = None) -> None:
    """A run folder as training leaves it, with this validation loss, and with a test loss if there is one."""
    splits = {"validation": {"loss": value}} | ({} if test is None else {"test": {"loss": test}})
    outcome = {} if value is None else {"outcome": {"seconds": 2.0, "memory": 100, **splits}}
    folder = run_folder.create_at(run.path, spec, "demo-lm", plan=PLAN, **outcome)
    folder.record(status=status)


def write_study(
    name: str, design: Design, losses: Mapping[str, Sequence[float]], where: Path | None = None, **tests: Sequence[float]
) -> StudyFolder:
    """A study whose runs have ended with these validation losses by arm, in the order of the seeds.

    `tests` are test losses by arm.
    """
    study = study_folder.create(design, name, where)
    for arm in design.arms:
        of_test = tests.get(arm.name, [None] * len(design.seeds))
        for seed, value, test in zip(design.seeds, losses[arm.name], of_test, strict=True):
            write_run(study.run(arm, seed), arm.spec, value, test=test)
    return study
