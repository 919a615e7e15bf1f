"""Writes the report of a run, and the report, the tables and `comparison.json` of a study, into its folder."""

from pathlib import Path

from glasshouse.api import linked_page
from glasshouse.inspection import run_report
from glasshouse.pages import report_page, study_page, study_tables
from glasshouse.records import atomic_files
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run
from glasshouse.studies import study_results
from glasshouse.studies.study_folder import StudyFolder


def write_run(run: Run) -> Path:
    """Write the report of a run, and return its path."""
    linked_page.write(run.folder.report_file, report_page.render(run_report.collect(run)))
    return run.folder.report_file


def write_study(study: StudyFolder) -> StudyResults:
    """Write the report, the tables and `comparison.json` of a study, and return its results."""
    results = study_results.collect(study)
    linked_page.write(study.report_file, study_page.render(results, _run_pages(study)))
    atomic_files.write_text(study.path / "table.md", study_tables.markdown(results))
    atomic_files.write_text(study.path / "table.tex", study_tables.latex(results))
    atomic_files.write_text(study.path / "comparison.json", study_results.to_json(results))
    return results


def _run_pages(study: StudyFolder) -> dict[str, dict[int, tuple[str, str]]]:
    """Arm -> seed -> path and address of the run. The reports of runs are linked back to the study."""
    design, pages = study.design(), dict[str, dict[int, tuple[str, str]]]()
    for arm in design.arms:
        runs = {seed: study.run(arm, seed) for seed in design.seeds}
        paths = {seed: run.path.relative_to(study.path).as_posix() for seed, run in runs.items() if run.path.is_dir()}
        pages[arm.name] = {seed: (path, linked_page.run_address(study.path, path)) for seed, path in paths.items()}
        for run in runs.values():
            if run.report_file.is_file():
                linked_page.add_study_link(run.report_file, study.path)
    return pages
