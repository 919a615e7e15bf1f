"""Public functions for studies, which compare several arms with several seeds each, and for claims."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, overload

from glasshouse.api import claim_record, reports
from glasshouse.api.runs import Run
from glasshouse.claims import trials
from glasshouse.claims.claim import GROUPS
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.launching.submission import Submission
from glasshouse.pages import claim_pages, study_tables
from glasshouse.records import atomic_files
from glasshouse.records.user_paths import StrPath
from glasshouse.results.claim import Case
from glasshouse.results.study import StudyResults
from glasshouse.specs.options import takes
from glasshouse.specs.options import words as words_of
from glasshouse.studies import arms, places, study_folder, study_request, study_results, study_runner, study_values
from glasshouse.studies.run_queue import Place
from glasshouse.studies.study_folder import Design, StudyFolder
from glasshouse.studies.study_options import NOT_OF_SWEEPS, StudyOptions
from glasshouse.verdicts.verdict import Difference


class Study:
    """One study with its design, runs and results."""

    def __init__(self, where: StudyFolder | StrPath) -> None:
        self.folder = where if isinstance(where, StudyFolder) else study_folder.find(where)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def design(self) -> Design:
        """Everything that was decided before the runs."""
        return self.folder.design()

    @property
    def comparison(self) -> StudyResults:
        """The results of the runs that have ended so far."""
        return study_results.collect(self.folder)

    @property
    def verdicts(self) -> dict[str, str]:
        """Arm -> its verdict in plain words and then with its statistics, or why it has none."""
        return study_results.verdict_sentences(self.comparison)

    @property
    def pairs(self) -> dict[tuple[str, str], Difference]:
        """(arm, earlier arm) -> their difference, for all pairs of arms, corrected for that many comparisons."""
        design = self.design
        study_request.check_pairs(len(design.arms))
        found = study_values.pair_verdicts(self.folder, design, study_values.final_values(self.folder, design))
        return {(pair.arm, pair.against): pair.difference for pair in found}

    @property
    def report(self) -> Path:
        """The path of the HTML report."""
        return self.folder.report_file

    def to_json(self) -> str:
        """The results as JSON, as in comparison.json."""
        return study_results.to_json(self.comparison)

    def run(self, arm: str, seed: int, device: str = "auto") -> Run:
        """The run of one arm with one seed."""
        arms = {planned.name: planned for planned in self.design.arms}
        return Run(self.folder.run(arms[arm], seed).path, device)

    def extend(self, seeds: str | int | Sequence[int], device: str = "auto") -> "Study":
        """Train more seeds, say `study.extend(16)` to have 16, and judge again. Returns the study."""
        study_request.add_seeds(self.folder, arms.parse_seeds(seeds))
        study_runner.continue_study(self.folder, Place(device), reports.write_study)
        return self

    def replicate(
        self, seeds: str | int | Sequence[int] | None = None, name: str | None = None, device: str = "auto"
    ) -> "Study":
        """Ask the question of the study again, with seeds that it has not used. Returns the replication."""
        options = StudyOptions(replicate=str(self.folder.path), seeds=seeds, name=name)
        replication = study_runner.run_study(self.design.question.kind, (), options, Place(device), reports.write_study)
        assert isinstance(replication, StudyFolder)
        return Study(replication)

    def __fspath__(self) -> str:
        """The folder, so that a study stands wherever a name or a path of one may stand."""
        return str(self.folder.path)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.folder.status()})"

    def _repr_html_(self) -> str:
        """The display in a notebook: the table of arms and the verdicts."""
        results = self.comparison
        table = study_tables.table(results)
        head = "".join(f"<th>{escape(cell)}</th>" for cell in table.columns)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
        sentences = study_results.verdict_sentences(results).values()
        verdicts = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        return f"<table><tr>{head}</tr>{rows}</table><ul>{verdicts}</ul><p>{escape(table.note)}</p>"


@overload
def compare(*words: str, device: str = "auto", on: None = None, **options: Any) -> Study: ...
@overload
def compare(*words: str, device: str = "auto", on: Slurm, **options: Any) -> Study | Submission: ...
@takes(StudyOptions)
def compare(*words: str, device: str = "auto", on: Slurm | None = None, **options: Any) -> Study | Submission:
    """Train several arms with several seeds each, and test whether each arm differs from the first.

    `compare("demo-lm", "model.position=learned,rotary", seeds=8)` varies a field, `compare("a", "b")` compares recipes. The
    same call continues an interrupted study. With `on=Slurm(time="2:00:00")` the jobs of an array train the runs, and a last
    job judges the study; the jobs are returned.
    """
    return _run_study("compare", words, options, device, on)


@overload
def sweep(*words: str, device: str = "auto", on: None = None, **options: Any) -> Study: ...
@overload
def sweep(*words: str, device: str = "auto", on: Slurm, **options: Any) -> Study | Submission: ...
@takes(StudyOptions, leave_out=NOT_OF_SWEEPS)
def sweep(*words: str, device: str = "auto", on: Slurm | None = None, **options: Any) -> Study | Submission:
    """Train a recipe over a range of values with several seeds each, by default 4.

    `sweep("demo-lm", "training.learning_rate=1e-4..1e-2:log:8", seeds=4)` has eight arms.
    """
    return _run_study("sweep", words, {"seeds": 4, **options}, device, on)


def _run_study(
    kind: str, words: tuple[str, ...], given: dict[str, Any], device: str, on: Slurm | None
) -> Study | Submission:
    options = StudyOptions(**given)
    place = places.place_of(on, [kind, *words, *words_of(options)], device)
    study = study_runner.run_study(kind, words, options, place, reports.write_study, shortens_interval=True)
    return study if isinstance(study, Submission) else Study(study)


def open_study(name: StrPath) -> Study:
    """Open a study by its name or path."""
    return Study(name)


def judge_all_pairs(name: StrPath) -> Study:
    """Judge all pairs of a study's arms, beside the comparisons with the first arm, and write its report again.

    Nothing is trained. `Study.pairs` has the verdicts.
    """
    study = study_folder.find(name)
    study_request.add_pairs(study)
    reports.write_study(study)
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
    on: Slurm | None = None,
) -> Case | Submission:
    """Register and run a trial of a claim, or continue an unfinished one. `replicate` repeats a finished one on fresh seeds.

    `seeds` is a number of seeds, or increasing numbers such as "8,16,32" after which the trial is judged and may stop.
    `register_only` writes the registration and runs nothing. With `on=Slurm()` jobs measure it, and are returned.
    """
    options = (seeds, quick, replicate, device, first_seed)
    place = places.place_of(on, ["claim", *trials.words_of(name, *options[:3], first_seed)], device)
    return trials.try_claim(name, *options, register_only, place, reports.write_study)


def claims_report(output: StrPath = "claims.html", record: StrPath | None = None) -> Path:
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
    atomic_files.write_text(path, claim_pages.render(cases, GROUPS))
    return path


def check_claims(record: StrPath = "docs/claims") -> list[str]:
    """Compute every page of a record again from its registrations and values, and return what differs."""
    return claim_record.check(Path(record))
