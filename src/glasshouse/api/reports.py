"""Public functions that write the report of a run or a study, and the model card of a run."""

import time
from pathlib import Path

from glasshouse.api import page_index
from glasshouse.formatting import duration
from glasshouse.inspection import run_report
from glasshouse.pages import report_page, study_page, study_tables
from glasshouse.records import atomic_files, progress_bar
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.user_paths import StrPath
from glasshouse.results.study import StudyResults
from glasshouse.runs import baseline_comparison, model_card
from glasshouse.runs.run import Run, run_of
from glasshouse.studies import study_folder, study_results
from glasshouse.studies.study_folder import StudyFolder
from glasshouse.training import loop


def report(name: StrPath, device: str = "auto") -> Path:
    """Write the report of a run or a study again, and return its path."""
    if study := study_folder.find_unambiguous(name):
        write_study(study)
        return study.report_file
    run = run_of(name, device)
    baseline_comparison.ensure(run)
    return write_run(run)


def card(run: StrPath, output: StrPath | None = None) -> str:
    """The model card of a run in Markdown: what it is, its data, figures, limits, and the command that made it.

    With `output`, it is also written to this file.
    """
    atomic_files.check_output(output, (".md",))
    text = model_card.markdown(run_of(run, "cpu"))
    if output:
        atomic_files.write_text(Path(output), text)
    return text


def write_run(run: Run) -> Path:
    page_index.write_page(run.folder.report_file, report_page.render(run_report.collect(run)))
    return run.folder.report_file


def write_study(study: StudyFolder) -> StudyResults:
    """Write the report, the tables and `comparison.json` of a study, and return its results."""
    results = study_results.collect(study)
    page_index.write_page(study.report_file, study_page.render(results, _run_pages(study)))
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
        pages[arm.name] = {seed: (path, page_index.run_address(study.path, path)) for seed, path in paths.items()}
        for run in runs.values():
            if run.report_file.is_file():
                page_index.add_study_link(run.report_file, study.path)
    return pages


def train_folder(run: RunFolder, device: str) -> RunFolder:
    start = time.perf_counter()
    has_trained = loop.train(run, device)
    trained = Run(run, device)
    baseline_comparison.ensure(trained)
    write_run(trained)
    if has_trained:
        outcome = run.facts()["outcome"]
        parts = f"training time {duration(outcome['seconds'])}, final evaluation {duration(outcome['evaluation_seconds'])}"
        progress_bar.say(f"{run.name}: done in {duration(time.perf_counter() - start)} ({parts})")
    return run
