"""Public functions for studies, which compare several arms with several seeds each, and for claims."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from glasshouse.claims import record as claim_record
from glasshouse.claims import trials
from glasshouse.claims.claim import GROUPS
from glasshouse.pages import claims_page
from glasshouse.records import atomic_files
from glasshouse.results.claim import Case
from glasshouse.studies import study_folder, study_pairs, study_results, study_runner
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
    items: bool = False,
    register: bool = False,
    replicate: str | PathLike[str] | None = None,
    multiverse: bool = False,
    all_pairs: bool = False,
    name: str | None = None,
    device: str = "auto",
    replicas: str = "auto",
) -> Study:
    """Train several arms with several seeds each, and test whether each arm differs from the first.

    `compare("demo-lm", "model.position=learned,rotary", seeds=8)` varies a field, `compare("a", "b")` compares recipes. The
    same call continues an interrupted study.

    With `items`, the items of the evaluation are a sample as the seeds are. `register` records a digest of the plan before
    the first run. `multiverse` adds a table of the verdicts under other reasonable choices. `all_pairs` also judges every
    pair of arms, corrected for that many comparisons. `compare(replicate="a")` asks the question of the study `a` again,
    with fresh seeds.
    """
    sequential = study_runner.sequential_options(until_decided, batch, max_seeds)
    question = Question("compare", words, metric, match, tune, alpha, margin, **sequential, items=items, quick=False)
    if replicate is not None:
        study_runner.check_replication(question)
        options = (name, device, str(replicas), register, multiverse, all_pairs)
        return Study(study_runner.replicate_study(str(replicate), seeds, *options))
    plan = (question, seeds, name, device, str(replicas), None)
    return Study(study_runner.run_study(*plan, register, multiverse, all_pairs, shortens_interval=True))


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
    return Study(study_runner.run_study(question, seeds, name, device, str(replicas), shortens_interval=True))


def open_study(name: str | PathLike[str]) -> Study:
    """Open a study by its name or path."""
    return Study(name)


def judge_all_pairs(name: str | PathLike[str]) -> Study:
    """Judge all pairs of a study's arms, beside the comparisons with the first arm, and write its report again.

    Nothing is trained. `Study.pairs` has the verdicts.
    """
    study = study_folder.find(name)
    study_pairs.add(study)
    study_results.write(study)
    return Study(study)


def list_studies() -> list[Study]:
    """Every study in the studies folder, oldest first."""
    return [Study(folder) for folder in study_folder.all_studies()]


def studies_folder() -> Path:
    """The folder that holds studies: `GLASSHOUSE_STUDIES`, or `studies` under the current folder."""
    return study_folder.root()


def list_claims() -> list[Case]:
    """All claims about Transformers, each with its trials."""
    return trials.list_cases()


def try_claim(
    name: str,
    seeds: str | int | None = None,
    quick: bool = False,
    replicate: bool = False,
    device: str = "auto",
    first_seed: int | None = None,
    register_only: bool = False,
) -> Case:
    """Register and run a trial of a claim, or continue an unfinished one. `replicate` repeats a finished one on fresh seeds.

    `seeds` is a number of seeds, or increasing numbers such as "8,16,32" after which the trial is judged and may stop.
    `register_only` writes the registration and runs nothing.
    """
    return trials.try_claim(name, seeds, quick, replicate, device, first_seed, register_only)


def claims_report(output: str | PathLike[str] = "claims.html", record: str | PathLike[str] | None = None) -> Path:
    """Write the pages of all claims: one .html file that works offline, or a folder of Markdown pages with its record.

    A record is a folder with the registrations and the values of trials, such as docs/claims. Trials of `record`, or of an
    output folder, are shown beside those of the studies folder.
    """
    path = Path(output)
    if path.suffix.lower() != ".html":
        claim_record.write(path)
        return path
    atomic_files.check_output(path, (".html",))
    cases = claim_record.cases_with(Path(record) if record else None)
    atomic_files.write_text(path, claims_page.render(cases, GROUPS))
    return path


def check_claims(record: str | PathLike[str] = "docs/claims") -> list[str]:
    """Compute every page of a record again from its registrations and values, and return what differs."""
    return claim_record.check(Path(record))
