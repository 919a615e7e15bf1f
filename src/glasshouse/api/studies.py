"""Public functions for studies, which compare several arms with several seeds each, and for claims."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from glasshouse.claims import trials
from glasshouse.pages import claims_page
from glasshouse.pages.claim_content import Case
from glasshouse.studies import study_folder, study_runner
from glasshouse.studies.study import Study
from glasshouse.studies.study_folder import Question


def compare(
    *words: str,
    seeds: str | int | Sequence[int] | None = None,
    metric: str | None = None,
    match: str = "steps",
    tune: str | None = None,
    margin: float | None = None,
    alpha: float = 0.05,
    until_decided: bool = False,
    batch: int | None = None,
    max_seeds: int | None = None,
    name: str | None = None,
    device: str = "auto",
    replicas: str = "auto",
) -> Study:
    """Train several arms with several seeds each, and test whether each arm differs from the first.

    `compare("demo-lm", "model.position=learned,rotary", seeds=8)` varies a field, `compare("a", "b")` compares recipes. The
    same call continues an interrupted study.
    """
    sequential = study_runner.sequential_options(until_decided, batch, max_seeds)
    question = Question("compare", words, metric, match, tune, alpha, margin, **sequential)
    return Study(study_runner.run_study(question, seeds, name, device, str(replicas)))


def sweep(
    *words: str,
    seeds: str | int | Sequence[int] = 4,
    metric: str | None = None,
    match: str = "steps",
    margin: float | None = None,
    alpha: float = 0.05,
    name: str | None = None,
    device: str = "auto",
    replicas: str = "auto",
) -> Study:
    """Train a recipe over a range of values with several seeds each.

    `sweep("demo-lm", "training.learning_rate=1e-4..1e-2:log:8", seeds=4)` has eight arms.
    """
    question = Question("sweep", words, metric, match, None, alpha, margin)
    return Study(study_runner.run_study(question, seeds, name, device, str(replicas)))


def open_study(name: str | PathLike[str]) -> Study:
    """Open a study by its name or path."""
    return Study(name)


def list_studies() -> list[Study]:
    """Every study in the studies folder, oldest first."""
    return [Study(folder) for folder in study_folder.all_studies()]


def studies_folder() -> Path:
    """The folder that holds studies: `GLASSHOUSE_STUDIES`, or `studies` under the current folder."""
    return study_folder.root()


def list_claims() -> list[Case]:
    """All claims about Transformers, each with its trial if there was one."""
    return trials.list_cases()


def try_claim(name: str, seeds: int | None = None, quick: bool = False, device: str = "auto") -> Case:
    """Test a claim, or continue an interrupted trial, and save the finding in the claim's folder."""
    return trials.try_claim(name, seeds, quick, device)


def claims_report(output: str | PathLike[str] = "claims.html") -> Path:
    """Write a page of all claims with their verdicts, reported values and measured values; `output` is .html or .md."""
    claims_page.check_path(path := Path(output))
    claims_page.write(trials.list_cases(), path)
    return path
