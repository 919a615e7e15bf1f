"""A study to hold: its results as text and as numbers, its display in a notebook, more seeds, a replication."""

from collections.abc import Sequence
from html import escape
from os import PathLike
from pathlib import Path

from glasshouse.api import report_files
from glasshouse.api.run import Run
from glasshouse.pages import study_tables
from glasshouse.results.study import StudyResults
from glasshouse.studies import arms, study_folder, study_request, study_results, study_runner, study_values
from glasshouse.studies.run_queue import Local
from glasshouse.studies.study_folder import Design, StudyFolder
from glasshouse.studies.study_options import StudyOptions
from glasshouse.verdicts.verdict import Difference


class Study:
    """One study with its design, runs and results."""

    def __init__(self, where: StudyFolder | str | PathLike[str]) -> None:
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
        for planned in self.design.arms:
            if planned.name == arm:
                return Run(self.folder.run(planned, seed).path, device)
        raise KeyError(arm)

    def extend(self, seeds: str | int | Sequence[int], device: str = "auto") -> "Study":
        """Train more seeds, say `study.extend(16)` to have 16, and judge again. Returns the study."""
        study_request.add_seeds(self.folder, arms.parse_seeds(seeds))
        study_runner.continue_study(self.folder, Local(device), report_files.write_study)
        return self

    def replicate(
        self, seeds: str | int | Sequence[int] | None = None, name: str | None = None, device: str = "auto"
    ) -> "Study":
        """Ask the question of the study again, with seeds that it has not used. Returns the replication."""
        options = StudyOptions(replicate=str(self.folder.path), seeds=seeds, name=name)
        replication = study_runner.run_study(self.design.question.kind, (), options, Local(device), report_files.write_study)
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
        head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
        sentences = study_results.verdict_sentences(results).values()
        verdicts = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        return f"<table><tr>{head}</tr>{rows}</table><ul>{verdicts}</ul><p>{escape(table.caption)}</p>"
