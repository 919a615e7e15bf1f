"""A run as an entry of the index page: read in well under a millisecond, whatever the length of its metric log.

`run_list` reads whole runs for a list that is sorted by any field. Here the spec is not parsed, and of the metric log only
the end is read; curves are read apart. A damaged or half-written run gives an entry with what can be read.
"""

import math
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glasshouse.records import kept_json, kept_schema, lock, metric_log, plain_files
from glasshouse.records.metric_log import TAIL_BYTES
from glasshouse.records.run_facts import RunFacts
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.run_list import DAMAGED, MAIN_SPLIT
from glasshouse.records.status import Status
from glasshouse.specs import toml_text

# The points of a curve that an entry has.
CURVE_POINTS = 40
# Where the last evaluation of a run is looked for: at the end of its log.
EVALUATION_BYTES = 32768
# What a run folder is recognised by: a run that is half written may lack one of them.
MARKS = ("spec.toml", "run.json")
# What an entry is read from; the report comes last, and writing it again does not change a run.
FILES = (*MARKS, "metrics.jsonl", "report.html")
_FIELD = re.compile(r'^(task|source) = "([^"\n]*)"', re.MULTILINE)
_FILES = re.compile(r"^files = \[([^\]]*)\]", re.MULTILINE)
_STEPS = re.compile(r"^steps = (\d+)", re.MULTILINE)
# A status that can end without a word: whoever trains the run may have been killed.
_RUNNING = (Status.NEW, Status.TRAINING)

# Times and sizes of files.
Stamp = tuple[tuple[int, int], ...]
Points = tuple[list[float], list[float]]


@dataclass(frozen=True)
class RunEntry:
    """What the index page shows of a run. `changed` is the time of the last change of its files."""

    path: Path
    status: str
    task: str = ""
    recipe: str = ""
    data: str = ""
    figure: tuple[str, str] = ("", "")  # "validation perplexity" and its value: at the end, or at the last evaluation
    steps: int = 0
    total_steps: int = 0  # 0 if it is not known
    seconds: float = 0.0
    created: float = 0.0
    changed: float = 0.0
    has_report: bool = False
    error: str = ""
    has_curves: bool = False

    @property
    def name(self) -> str:
        return self.path.name


def is_run(folder: Path) -> bool:
    """Whether a folder is a run, perhaps a damaged one."""
    return any((folder / mark).is_file() for mark in MARKS)


def folders_in(folder: Path) -> list[Path]:
    """The run folders in a folder, in the order of their names. Temporary folders are left out."""
    try:
        with os.scandir(folder) as entries:
            paths = [entry.path for entry in entries if entry.name[0] != "." and entry.is_dir()]
    except OSError:
        return []
    return [Path(path) for path in sorted(paths) if any(os.path.isfile(f"{path}/{mark}") for mark in MARKS)]


class RunEntryReader:
    """Reads entries, and again only those whose files have changed."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[Stamp, RunEntry]] = {}
        self._curves: dict[Path, tuple[Stamp, dict[str, Points]]] = {}

    def read(self, path: Path) -> RunEntry:
        """The entry of the run in this folder."""
        stamp = _stamp(path)
        kept_stamp, entry = self._kept.get(path, (None, None))
        if entry is None or kept_stamp != stamp:
            entry = _read(path, stamp)
            self._kept[path] = (stamp, entry)
        if entry.status in _RUNNING:
            return replace(entry, status=Status.TRAINING if lock.is_held(path) else Status.INTERRUPTED)
        return entry

    def curves(self, path: Path) -> dict[str, Points]:
        """ "training" and "validation" -> some steps and losses of the run in this folder."""
        stamp = _stamp(path)
        kept_stamp, curves = self._curves.get(path, (None, None))
        if curves is None or kept_stamp != stamp:
            curves = _read_curves(path / "metrics.jsonl")
            self._curves[path] = (stamp, curves)
        return curves


def _stamp(path: Path) -> Stamp:
    """Times (in nanoseconds) and sizes of `FILES`; zeros for a file that does not exist."""
    stamp = []
    folder = str(path)
    for name in FILES:
        try:
            found = os.stat(f"{folder}/{name}")
            stamp.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamp.append((0, 0))
    return tuple(stamp)


def _read(path: Path, stamp: Stamp) -> RunEntry:
    run, problems = RunFolder(path), []
    try:
        spec = plain_files.read_text(run.spec_file, toml_text.MOST_BYTES)
    except OSError as error:
        spec = ""
        problems.append(f"spec.toml cannot be read ({error.strerror})")
    try:
        table = kept_json.read(path / "run.json", dict[str, Any], kept_json.MOST_FACTS)
        facts, faults = kept_schema.fitting_entries(table, RunFacts)
        problems += [f"run.json: {fault}" for fault in faults]
    except (OSError, ValueError) as error:
        facts = {}
        problems.append(f"run.json cannot be read ({getattr(error, 'strerror', None) or error})")
    if run.metrics_file.exists() and not run.metrics_file.is_file():
        problems.append("metrics.jsonl is no plain file")
    tail = metric_log.tail_rows(run.metrics_file, TAIL_BYTES if "headline" in facts else EVALUATION_BYTES)
    last = tail[-1] if tail else {}
    fields = dict(_FIELD.findall(spec))
    files = _FILES.search(spec)
    names = ", ".join(part.strip().strip('"').rsplit("/", 1)[-1] for part in files[1].split(",")) if files else ""
    outcome, plan = _table(facts, "outcome"), _table(facts, "plan")
    steps_in_spec = _STEPS.search(spec)
    return RunEntry(
        path,
        DAMAGED if problems else Status.read(facts.get("status")),
        task=fields.get("task", ""),
        recipe=str(facts.get("recipe", "")),
        data=fields.get("source") or names or str(facts.get("origin", "")),
        figure=_figure(facts, tail),
        steps=int(last.get("step", 0)),
        total_steps=int(_number(plan.get("steps")) or (int(steps_in_spec[1]) if steps_in_spec else 0)),
        seconds=_number(outcome.get("seconds")) or _number(last.get("seconds")),
        created=_number(facts.get("created")),
        changed=max(time for time, _ in stamp[:-1]) / 1e9,
        has_report=stamp[-1] != (0, 0),
        error="; ".join(problems),
        has_curves=bool(tail),
    )


def _figure(facts: dict[str, Any], tail: list[dict[str, Any]]) -> tuple[str, str]:
    """The main figure of the final evaluation, or the last validation loss, or the last training loss."""
    try:
        title, value = facts["headline"][MAIN_SPLIT][0]
        return f"{MAIN_SPLIT} {title}", str(value)
    except (KeyError, IndexError, TypeError, ValueError):
        pass
    for name, title in (("validation.loss", "validation loss"), ("loss", "training loss")):
        found = [row[name] for row in tail if isinstance(row.get(name), int | float)]
        if found:
            return title, f"{found[-1]:.4f}"
    return "", ""


def _read_curves(path: Path) -> dict[str, Points]:
    """The losses of a log: of training at some steps, of validation at the evaluations. Only finite ones."""
    try:
        rows = metric_log.some_rows(plain_files.read_bytes(path), CURVE_POINTS)
    except OSError:
        return {}
    curves = {}
    for name, column in (("training", "loss"), ("validation", "validation.loss")):
        pairs = [(row["step"], row[column]) for row in rows if isinstance(row.get(column), int | float)]
        pairs = [(step, value) for step, value in pairs if math.isfinite(value)]
        if pairs:
            curves[name] = ([float(step) for step, _ in pairs], [float(value) for _, value in pairs])
    return curves


def _table(facts: dict[str, Any], name: str) -> dict[str, Any]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float:
    """A number that is finite, or 0."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable else 0.0  # type: ignore[arg-type]
