"""Public functions that write the report of a run or a study again, and the model card of a run."""

from os import PathLike
from pathlib import Path

from glasshouse.api import report_files
from glasshouse.api.opened_run import run_of
from glasshouse.records import atomic_files
from glasshouse.runs import baseline_comparison, model_card
from glasshouse.studies import study_folder


def report(name: str | PathLike[str], device: str = "auto") -> Path:
    """Write the report of a run or a study again, and return its path."""
    if study := study_folder.find_unambiguous(name):
        report_files.write_study(study)
        return study.report_file
    run = run_of(name, device)
    baseline_comparison.ensure(run)
    return report_files.write_run(run)


def card(run: str | PathLike[str], output: str | PathLike[str] | None = None) -> str:
    """The model card of a run in Markdown: what it is, its data, figures, limits, and the command that made it.

    With `output`, it is also written to this file.
    """
    if output:
        atomic_files.check_output(Path(output), (".md",))
    text = model_card.markdown(run_of(run, "cpu"))
    if output:
        atomic_files.write_text(Path(output), text)
    return text
