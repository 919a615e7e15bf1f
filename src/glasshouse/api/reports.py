"""The public function that writes the report of a run or a study again."""

from os import PathLike
from pathlib import Path

from glasshouse.inspection import run_report
from glasshouse.runs import baseline_comparison
from glasshouse.runs.run import Run
from glasshouse.studies import study_folder, study_results


def report(name: str | PathLike[str], device: str = "auto") -> Path:
    """Write the report of a run or a study again, and return its path."""
    if study := study_folder.find_unambiguous(name):
        study_results.write(study)
        return study.report_file
    run = Run(name, device)
    baseline_comparison.ensure(run)
    return run_report.write(run)
