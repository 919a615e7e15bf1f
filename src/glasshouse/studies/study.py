"""A study, opened: its results as text and as numbers, and its display in a notebook. Changes nothing in the folder."""

from html import escape
from os import PathLike
from pathlib import Path

from glasshouse.pages import study_tables
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run
from glasshouse.studies import study_folder, study_pairs, study_results, study_values
from glasshouse.studies.study_folder import Design, StudyFolder
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
        """Arm -> its verdict in one sentence."""
        return study_results.verdict_sentences(self.comparison)

    @property
    def pairs(self) -> dict[tuple[str, str], Difference]:
        """(arm, earlier arm) -> their difference, for all pairs of arms, corrected for that many comparisons."""
        design = self.design
        study_pairs.check(len(design.arms))
        found = study_pairs.pair_verdicts(self.folder, design, study_values.final_values(self.folder, design))
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
