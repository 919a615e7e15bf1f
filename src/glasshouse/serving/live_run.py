"""The live view of a run: its curves, the time left and the cost so far, read from the run folder as it is now."""

from contextlib import suppress
from typing import Any

from glasshouse import formatting
from glasshouse.records import metric_log, plain_files, sample_log
from glasshouse.records.run_entries import RunEntry
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.results.index import LiveRun, PageLink
from glasshouse.results.report import Curve
from glasshouse.serving import run_commands
from glasshouse.specs.errors import RunError

CURVE_POINTS = 300
# The rows of the table of evaluations.
EVALUATIONS = 10
# The time left follows from the steps of this last part of the log.
RECENT = 0.2
_EXPLANATIONS = {
    Status.TRAINING: "A process trains this run.",
    Status.INTERRUPTED: "No process trains this run: it was stopped, or its process has ended. It can be resumed.",
    Status.DONE: "All steps are taken.",
    Status.STOPPED: "It stopped early, because it did not improve any more.",
    Status.FAILED: "Its loss or gradient was not finite.",
}


def collect(key: str, entry: RunEntry, links: tuple[PageLink, ...], report: PageLink | None) -> LiveRun:
    rows, samples = [], sample_log.read(entry.path)
    with suppress(OSError):
        rows = metric_log.some_rows(plain_files.read_bytes(entry.path / "metrics.jsonl"), CURVE_POINTS)
    explanation = entry.error or _EXPLANATIONS.get(Status.read(entry.status), "")
    if entry.status == Status.TRAINING and RunFolder(entry.path).stop_request.exists():
        explanation = "It was asked to stop, and saves a checkpoint after its next step."
    elif entry.status == Status.INTERRUPTED and run_commands.is_started("resume", entry.path):
        explanation = "glasshouse resume was started for it, and does not train it yet or has not ended yet."
    described = ", ".join(part for part in (entry.recipe, entry.task, entry.data) if part)
    # The first metric beside the loss, such as perplexity or accuracy.
    last: dict[str, Any] = next((row for row in reversed(rows) if "validation.loss" in row), {})
    quality = [name for name in last if name.startswith("validation.") and name != "validation.loss"][:1]
    note = f"Made at the newest evaluations, each with the weights of its step; {samples[0].how}." if samples else ""
    return LiveRun(
        key=key,
        name=entry.name,
        subtitle=f"{described}." if described else "",
        status=str(entry.status),
        explanation=explanation,
        share=min(entry.steps / entry.total_steps, 1.0) if entry.total_steps else 0.0,
        headline=_headline(entry, rows),
        links=links,
        loss=_curves(rows, {"training": "loss", "validation": "validation.loss"}),
        quality=_curves(rows, {name.replace(".", " ").replace("_", " "): name for name in quality}),
        evaluations=_evaluations(rows),
        samples=tuple((sample.step, sample.prompt, sample.text) for sample in samples),
        samples_note=note,
        actions=run_commands.possible(entry),
        report=report if entry.has_report else None,
        output=run_commands.output(entry.path),
    )


def time_left(entry: RunEntry, rows: list[dict[str, Any]]) -> float | None:
    """The seconds that the remaining steps will take, evaluations included; None if that is not known."""
    timed = list(zip(*metric_log.column(rows, "seconds"), strict=True))
    if not entry.total_steps or len(timed) < 2 or entry.status != Status.TRAINING:
        return None
    last_step, last = timed[-1]
    first_step, first = next(pair for pair in timed if pair[0] >= last_step * (1 - RECENT))
    if first_step == last_step:
        first_step, first = timed[0]
    if last_step == first_step:
        return None
    return max(entry.total_steps - last_step, 0) * (last - first) / (last_step - first_step)


def _headline(entry: RunEntry, rows: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    left = time_left(entry, rows)
    figures = [("time left", formatting.duration(left))] if left is not None else []
    if entry.figure[0]:
        figures.append(entry.figure)
    figures.append(("steps", f"{entry.steps:,}" + (f" of {entry.total_steps:,}" if entry.total_steps else "")))
    if entry.seconds:
        figures.append(("time so far", formatting.duration(entry.seconds)))
    plan = None
    with suppress(RunError):
        plan = RunFolder(entry.path).facts().get("plan")
    if plan and entry.total_steps:
        share = min(entry.steps / entry.total_steps, 1.0)
        figures.append(("tokens so far", formatting.count(plan["tokens"] * share)))
        figures.append(("compute so far", formatting.flops(plan["flops"] * share)))
    return tuple(figures)


def _curves(rows: list[dict[str, Any]], names: dict[str, str]) -> tuple[Curve, ...]:
    curves = []
    for title, name in names.items():
        steps, values = metric_log.column(rows, name)
        curves += [Curve(title, steps, values)] if steps else []
    return tuple(curves)


def _evaluations(rows: list[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
    evaluated = [row for row in rows if any(name.startswith("validation.") for name in row)][-EVALUATIONS:]
    if not evaluated:
        return ()
    names = [name for name in evaluated[-1] if name.startswith("validation.")]
    titles = ("step", *(name.removeprefix("validation.").replace("_", " ") for name in names), "time")
    cells = []
    for row in reversed(evaluated):
        values = [formatting.MISSING if row.get(name) is None else formatting.number(row[name]) for name in names]
        cells.append((f"{row['step']:,}", *values, formatting.duration(row.get("seconds") or 0)))
    return (titles, *cells)
