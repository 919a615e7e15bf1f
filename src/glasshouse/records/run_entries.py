"""A run as an entry of a list or of the index page: read in well under a millisecond, whatever the length of its metric log.

Of the metric log only the end is read; curves are read apart. A damaged or half-written run gives an entry with what can be
read, and `error` says what cannot.
"""

import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from glasshouse.records import lock, metric_log, plain_files
from glasshouse.records.metric_log import TAIL_BYTES
from glasshouse.records.run_folder import RunFolder, held_out_metrics
from glasshouse.records.status import Status
from glasshouse.specs import spec_files, toml_text
from glasshouse.specs.errors import GlasshouseError

# A metric without a split is that of this split.
MAIN_SPLIT = "validation"
# The status of a run of which something cannot be read.
DAMAGED = "damaged"
# The points of a curve that an entry has.
CURVE_POINTS = 40
# Where the last evaluation of a run is looked for: at the end of its log.
EVALUATION_BYTES = 32768
# What a run folder is recognised by: a run that is half written may lack one of them.
MARKS = ("spec.toml", "run.json")
# What an entry is read from; the report comes last, and writing it again does not change a run.
FILES = (*MARKS, "metrics.jsonl", "report.html")
# The fields of a spec that every entry shows, and their lines in its file.
_SHOWN = {"task": "task", "source": "data.source", "files": "data.files", "steps": "training.steps"}
_SHOWN_LINES = re.compile(rf"^(?:{'|'.join(_SHOWN)}) = .*$", re.MULTILINE)
# A status that can end without a word: whoever trains the run may have been killed.
_RUNNING = (Status.NEW, Status.TRAINING)

# Times and sizes of files.
Stamp = tuple[tuple[int, int], ...]
Points = tuple[list[float], list[float]]


@dataclass(frozen=True)
class RunEntry:
    """What lists and pages show of a run. `changed` is the time of the last change of its files.

    `figure` is a title and a value: the first of `headline`, the main figures of the final evaluation, or the last loss.
    `metrics` are all of that evaluation: split -> metric -> value. `fields` are those of the spec, by dotted name.
    """

    path: Path
    status: str
    task: str = ""
    recipe: str = ""
    data: str = ""
    date: str = ""
    headline: tuple[tuple[str, str], ...] = ()
    figure: tuple[str, str] = ("", "")
    steps: int = 0
    total_steps: int = 0  # 0 if it is not known
    seconds: float = 0.0
    changed: float = 0.0
    has_report: bool = False
    has_curves: bool = False
    error: str = ""
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.name

    def values(self) -> dict[str, Any]:
        """Everything that a list can be sorted or filtered by. `accuracy` is short for `validation.accuracy`."""
        names = ("name", "status", "steps", "data", "task", "recipe", "date")
        columns = {name: value for name in names if (value := getattr(self, name)) != ""}
        by_split = {f"{split}.{name}": value for split, values in self.metrics.items() for name, value in values.items()}
        return {**self.metrics.get(MAIN_SPLIT, {}), **by_split, **self.fields, **columns}


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
    """Reads entries, and again only those whose files have changed.

    With `all_fields` the whole spec is read, which takes several times as long as the fields that every entry shows.
    """

    def __init__(self, all_fields: bool = False) -> None:
        self._all_fields = all_fields
        self._kept: dict[tuple[str, Path], tuple[Stamp, Any]] = {}

    def read(self, path: Path) -> RunEntry:
        entry: RunEntry = self._if_changed("entry", path, lambda stamp: _read(path, stamp, self._all_fields))
        if entry.status in _RUNNING:
            return replace(entry, status=Status.TRAINING if lock.is_held(path) else Status.INTERRUPTED)
        return entry

    def curves(self, path: Path) -> dict[str, Points]:
        """ "training" and "validation" -> some steps and losses of the run in this folder."""
        curves: dict[str, Points] = self._if_changed("curves", path, lambda stamp: _read_curves(path / "metrics.jsonl"))
        return curves

    def _if_changed(self, what: str, path: Path, read: Callable[[Stamp], Any]) -> Any:
        stamp, (kept_stamp, found) = _stamp(path), self._kept.get((what, path), (None, None))
        if kept_stamp != stamp:
            found = read(stamp)
            self._kept[what, path] = (stamp, found)
        return found


def _stamp(path: Path) -> Stamp:
    """Times (in nanoseconds) and sizes of `FILES`; zeros for a file that does not exist."""
    stamp = []
    for name in FILES:
        try:
            found = os.stat(f"{path}/{name}")
            stamp.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamp.append((0, 0))
    return tuple(stamp)


def _read(path: Path, stamp: Stamp, all_fields: bool) -> RunEntry:
    run = RunFolder(path)
    fields: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    problems: list[str] = []
    try:
        facts, problems = run.sound_facts()
    except GlasshouseError as error:
        problems = [str(error)]
    try:
        fields = spec_files.flat_fields(run.tables()) if all_fields else _shown_fields(run.spec_file)
    except (OSError, GlasshouseError) as error:
        problems.append(f"spec.toml cannot be read ({error})")
    tail = metric_log.tail_rows(run.metrics_file, TAIL_BYTES if "headline" in facts else EVALUATION_BYTES)
    last = tail[-1] if tail else {}
    headline = tuple(facts.get("headline", {}).get(MAIN_SPLIT, ()))
    return RunEntry(
        path,
        DAMAGED if problems else Status.read(facts.get("status")),
        task=str(fields.get("task", "")),
        recipe=facts.get("recipe", ""),
        data=_data_name(fields) or facts.get("origin", ""),
        date=datetime.fromtimestamp(facts["created"]).strftime("%Y-%m-%d %H:%M:%S") if "created" in facts else "",
        headline=headline,
        figure=(f"{MAIN_SPLIT} {headline[0][0]}", headline[0][1]) if headline else _last_loss(tail),
        steps=last.get("step", 0),
        total_steps=facts.get("plan", {}).get("steps", 0) or int(_number(fields.get("training.steps"))),
        seconds=facts.get("outcome", {}).get("seconds", 0.0) or _number(last.get("seconds")),
        changed=max(time for time, _ in stamp[:-1]) / 1e9,
        has_report=stamp[-1] != (0, 0),
        has_curves=bool(tail),
        error="; ".join(problems),
        metrics=held_out_metrics(facts),
        fields=fields if all_fields else {},
    )


def _shown_fields(spec_file: Path) -> dict[str, Any]:
    """The fields of a spec that every entry shows, from their lines alone."""
    text = plain_files.read_text(spec_file, toml_text.MOST_BYTES)
    with suppress(tomllib.TOMLDecodeError):
        return {_SHOWN[name]: value for name, value in toml_text.parse("\n".join(_SHOWN_LINES.findall(text))).items()}
    return {}


def _data_name(fields: Mapping[str, Any]) -> str:
    """The source or the files of a spec's data. The fields are unchecked."""
    files = fields.get("data.files", ())
    names = [str(name).rsplit("/", 1)[-1] for name in files] if isinstance(files, list) else []
    return str(fields.get("data.source", "")) or ", ".join(names)


def _last_loss(tail: list[dict[str, Any]]) -> tuple[str, str]:
    for name, title in (("validation.loss", "validation loss"), ("loss", "training loss")):
        if found := metric_log.column(tail, name)[1]:
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
        finite = [row for row in rows if row.get(column) is not None and math.isfinite(row[column])]
        if finite:
            curves[name] = metric_log.column(finite, column)
    return curves


def _number(value: object) -> float:
    """A number that is finite, or 0."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
