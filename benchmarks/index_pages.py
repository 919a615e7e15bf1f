"""The index page over many runs: how long does it take to write it, and to serve it?

    python benchmarks/index_pages.py [--runs 1000] [--steps 500]
    python benchmarks/index_pages.py --smoke           # does it run? Twenty runs

Makes run folders with the records of real runs (spec, facts, a line in the metric log for each step and each evaluation) and
measures: the index as a file, the first page of a server that has read nothing yet, later pages, and the answer to a page
that asks whether something has changed. Each is measured several times; the median is printed, on the clock and on the
processors: other programs make the first longer. Nothing is trained.
"""

import argparse
import json
import math
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from glasshouse.api import page_index
from glasshouse.api.pages_application import create_pages_app
from glasshouse.cli.tables import console, show
from glasshouse.formatting import duration, size
from glasshouse.records import metric_log, progress_bar, run_folder
from glasshouse.records.run_entries import RunEntryReader
from glasshouse.records.status import Status
from glasshouse.serving.server import background_app
from glasshouse.specs import recipes
from glasshouse.specs.spec import Spec

TOKEN = "a-token-of-a-benchmark"
REPEATS = 5
CHANGE = "rows, one run has changed"
# What is asked of a fresh server, in order, and the path.
QUESTIONS = (
    ("first page served", ""),
    ("later page served", ""),
    ("all rows", "rows"),
    ("rows, nothing has changed", "rows"),
    (CHANGE, "rows"),
)


def make_run(path: Path, spec: Spec, number: int, steps: int) -> None:
    """A run folder as training leaves it, without its weights. Every tenth run was interrupted half way."""
    own = replace(spec, training=replace(spec.training, seed=number, steps=steps))
    run = run_folder.create_at(path, own, "demo-lm")
    taken = steps // 2 if number % 10 == 0 else steps
    rows = []
    for step in range(1, taken + 1):
        loss = 3 + (5 + 0.01 * number) * math.exp(-step / steps * 3)
        rows.append(
            {
                "step": step,
                "loss": loss,
                "gradient_norm": 0.9,
                "learning_rate": 1e-3,
                "tokens_per_second": 6e4,
                "seconds": 0.02 * step,
            }
        )
        if step % (steps // 10) == 0:
            rows.append(
                {"step": step, "validation.loss": loss, "validation.perplexity": math.exp(loss), "seconds": 0.02 * step}
            )
    metric_log.append(run.metrics_file, *rows)
    plan = {"steps": steps, "tokens": 4096 * steps, "flops": 10**12, "seconds": 0.02 * steps}
    facts: dict[str, Any] = {"status": Status.TRAINING if taken < steps else Status.DONE, "plan": plan}
    if taken == steps:
        facts |= {
            "headline": {"validation": [["perplexity", f"{math.exp(loss):.2f}"]]},
            "outcome": {"seconds": 0.02 * steps},
        }
    run.record(**facts)


Times = tuple[float, float]


def timed(work: Callable[[], object]) -> Times:
    """The seconds that something takes on the clock and on the processors."""
    began = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began[0], time.process_time() - began[1]


def fetched(address: str, path: str) -> bytes:
    with urllib.request.urlopen(f"{address}/{path}{'&' if '?' in path else '?'}token={TOKEN}") as answer:
        content: bytes = answer.read()
    return content


def row(what: str, times: list[Times], amount: int = 0) -> tuple[str, ...]:
    medians = (duration(statistics.median(column)) for column in zip(*times, strict=True))
    return (what, *medians, size(amount) if amount else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    runs, steps, repeats = (20, 50, 1) if options.smoke else (options.runs, options.steps, REPEATS)
    spec = recipes.spec("demo-lm")
    with tempfile.TemporaryDirectory() as temporary:
        with progress_bar.bar(f"making {runs:,} run folders") as bar:
            for number in range(runs):
                make_run(Path(temporary) / f"run-{number:05}", spec, number, steps)
                bar((number + 1) / runs)
        folders = page_index.folders_of(temporary)
        page_index.write(folders)  # templates are compiled once in a process
        read = [timed(lambda: page_index.read(folders, RunEntryReader())) for _ in range(repeats)]
        written = [timed(lambda: page_index.write(folders)) for _ in range(repeats)]
        rows = [row("all folders read", read), row("index written as a file", written, folders.index_file.stat().st_size)]
        answers: dict[str, list[Times]] = {}
        sizes: dict[str, int] = {}
        for _ in range(repeats):
            # A fresh application has read nothing.
            with background_app(create_pages_app(folders, TOKEN)) as address:
                since = ""
                for what, path in QUESTIONS:
                    if what == CHANGE:
                        log = Path(temporary) / "run-00000" / "metrics.jsonl"
                        metric_log.append(log, {"step": steps, "loss": 3.0, "seconds": 9.0})
                    question = partial(fetched, address, path + since if path else path)
                    answers.setdefault(what, []).append(timed(question))
                    if path and not since:
                        since = f"?version={json.loads(question())['version']}"
                    sizes[what] = len(question())
        rows += [row(what, answers[what], sizes[what]) for what, _ in QUESTIONS]
    console.print(f"{runs:,} runs of {steps:,} steps; median of {repeats}")
    show(("what", "time", "processor time", "size"), rows, right=(1, 2, 3))


if __name__ == "__main__":
    main()
