"""A study, opened: what it found, in words and in figures, and how a notebook shows it. Changes nothing in the folder."""

from html import escape
from os import PathLike
from pathlib import Path

from glasshouse.pages import study_tables
from glasshouse.pages.study_content import StudyResults
from glasshouse.runs.run import Run
from glasshouse.studies import study_folder, study_results
from glasshouse.studies.study_folder import Design, StudyFolder


class Study:
    """One study and everything known of it."""

    def __init__(self, where: StudyFolder | str | PathLike[str]) -> None:
        self.folder = where if isinstance(where, StudyFolder) else study_folder.find(where)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def design(self) -> Design:
        """What was decided before the runs."""
        return self.folder.design()

    @property
    def comparison(self) -> StudyResults:
        """What the runs have shown so far."""
        return study_results.compare(self.folder)

    @property
    def verdicts(self) -> dict[str, str]:
        """Arm -> its verdict in one sentence."""
        return study_results.sentences(self.comparison)

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder.report_file

    def run(self, arm: str, seed: int, device: str = "auto") -> Run:
        """The run of an arm and a seed."""
        for each in self.design.arms:
            if each.name == arm:
                return Run(self.folder.run(each, seed).path, device)
        raise KeyError(arm)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.folder.status()})"

    def _repr_html_(self) -> str:
        """How a notebook shows a study."""
        comparison = self.comparison
        table = study_tables.table(comparison)
        head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in study_results.sentences(comparison).values())
        return f"<table><tr>{head}</tr>{rows}</table><ul>{said}</ul><p>{escape(table.caption)}</p>"
