"""Folders of runs and studies with real records and nothing trained, for tests of what reads them."""

import json
from pathlib import Path

from glasshouse.records import metric_log, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status

from .example_spec import SPEC

REPORT = "<!doctype html>\n<html>\n<body>\n<p>a page</p>\n</body>\n</html>\n"


def make_run(path: Path, steps: int = 10, status: Status = Status.DONE, report: bool = False) -> RunFolder:
    """A run that took these steps, with an evaluation every fifth."""
    run = run_folder.create_at(path, SPEC, "demo-lm")
    for step in range(1, steps + 1):
        metric_log.append(run.metrics_file, {"step": step, "loss": 5 / step, "seconds": step / 2})
        if step % 5 == 0:
            metric_log.append(run.metrics_file, {"step": step, "validation.loss": 6 / step, "seconds": step / 2})
    facts: dict = {"status": status, "plan": {"steps": 10, "tokens": 1000, "flops": 10**9}}
    if status == Status.DONE:
        facts |= {"headline": {"validation": [["perplexity", "12.34"]]}, "outcome": {"seconds": 5.0}}
    run.record(**facts)
    if report:
        run.report_file.write_text(REPORT)
    return run


def make_study(path: Path, finished: bool = True, report: bool = False) -> Path:
    """A study of two arms and two seeds, of which the reader of an index needs these fields."""
    arms = [{"name": name, "folder": name, "recipe": "demo-lm"} for name in ("learned", "rotary")]
    design = {"arms": arms, "seeds": [0, 1], "question": {"kind": "compare"}, "finished": finished}
    for arm in arms:
        for seed in (0, 1):
            make_run(path / arm["folder"] / f"seed-{seed}", report=report and seed == 0)
    (path / "study.json").write_text(json.dumps(design))
    difference = {"word": "better", "sentence": "rotary is better than learned: 1 less"}
    compared = [{"name": "learned", "difference": None}, {"name": "rotary", "difference": difference}]
    (path / "comparison.json").write_text(json.dumps({"arms": compared}))
    if report:
        runs = [f"{arm['folder']}/seed-0" for arm in arms]
        links = "".join(f'<a data-run="{run}" href="{run}/">{run}</a>\n' for run in runs)
        (path / "report.html").write_text(REPORT.replace("</p>\n", f"</p>\n{links}"))
    return path
