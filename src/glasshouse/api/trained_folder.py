"""Train the run of a folder to its end, with its baselines and its report."""

import time

from glasshouse.api import report_files
from glasshouse.formatting import duration
from glasshouse.records import progress_bar
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs import baseline_comparison
from glasshouse.runs.run import Run
from glasshouse.training import loop


def train_folder(run: RunFolder, device: str) -> RunFolder:
    """Train a run, or what is left of it."""
    start = time.perf_counter()
    has_trained = loop.train(run, device)
    trained = Run(run, device)
    baseline_comparison.ensure(trained)
    report_files.write_run(trained)
    if has_trained:
        outcome = run.facts()["outcome"]
        parts = f"training time {duration(outcome['seconds'])}, final evaluation {duration(outcome['evaluation_seconds'])}"
        progress_bar.say(f"{run.name}: done in {duration(time.perf_counter() - start)} ({parts})")
    return run
