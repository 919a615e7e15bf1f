"""A list of runs: what each is, and how the list is sorted and filtered. Reads run folders; loads no model."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from glasshouse.records import metric_log
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError

# A metric without a split is that of this split.
MAIN_SPLIT = "validation"
DATE = "date"
# The status of a run of which something cannot be read; its `error` says what.
DAMAGED = "damaged"
# An item of a list that needs no quotes on a command line.
_PLAIN_WORD = re.compile(r"(?!(true|false|inf|nan)\Z)[A-Za-z~./][\w~./-]*")
_FILTER = re.compile(r"([\w.-]+)\s*([=<>])\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class RunOverview:
    """A run as an entry of a list. Its fields are read from the run folder; the model is not loaded.

    `metrics` are those of the final evaluation: split -> metric -> value. `fields` are those of the spec, by dotted name.
    """

    name: str
    status: str
    steps: int = 0
    headline: tuple[tuple[str, str], ...] = ()
    data: str = ""
    error: str = ""
    task: str = ""
    recipe: str = ""
    date: str = ""
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """Everything that a list can be sorted or filtered by. `accuracy` is short for `validation.accuracy`."""
        names = ("name", "status", "steps", "data", "task", "recipe", DATE)
        columns = {name: value for name in names if (value := getattr(self, name)) != ""}
        by_split = {f"{split}.{name}": value for split, values in self.metrics.items() for name, value in values.items()}
        return {**self.metrics.get(MAIN_SPLIT, {}), **by_split, **self.fields, **columns}


def overview(run: RunFolder) -> RunOverview:
    """A run as an entry of a list. `error` says what is wrong with a damaged one."""
    try:
        facts, damage, tables = run.facts(), run.damage(), run.tables()
    except GlasshouseError as error:
        return RunOverview(run.name, DAMAGED, error=str(error))
    last = metric_log.last_row(run.metrics_file)
    return RunOverview(
        run.name,
        DAMAGED if damage else run.status(),
        int(last.get("step", 0)),
        tuple((title, value) for title, value in facts.get("headline", {}).get(MAIN_SPLIT, ())),
        _data_name(tables.get("data")) or str(facts.get("origin", "")),
        error="; ".join(damage),
        task=str(tables.get("task", "")),
        recipe=str(facts.get("recipe", "")),
        date=datetime.fromtimestamp(float(facts.get("created", 0))).strftime("%Y-%m-%d %H:%M:%S"),
        metrics=final_metrics(facts),
        fields=flat_fields(tables),
    )


def _data_name(section: object) -> str:
    """The source or the files that the section `data` of a spec names. The tables of a list are unchecked."""
    if not isinstance(section, Mapping):
        return ""
    files = section.get("files", ())
    names = [str(name).rsplit("/", 1)[-1] for name in files] if isinstance(files, list) else []
    return str(section.get("source", "")) or ", ".join(names)


def final_metrics(facts: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The metrics of the final evaluation, for each held-out split, from the content of `run.json`."""
    outcome = facts.get("outcome", {})
    held_out = {split: values for split, values in outcome.items() if split.startswith(("validation", "test"))}
    return {split: values for split, values in held_out.items() if isinstance(values, dict)}


def flat_fields(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The fields of a spec by their dotted names."""
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        flat |= flat_fields(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def arranged(runs: Sequence[RunOverview], sort: str | None = None, filters: Sequence[str] = ()) -> list[RunOverview]:
    """The runs that pass all filters, sorted by a field; `-FIELD` sorts from the largest to the smallest.

    A filter is `FIELD=VALUE`, `FIELD<VALUE` or `FIELD>VALUE`. Runs without the field come last, or do not pass.
    """
    values = {run.name: run.values() for run in runs}
    known = list(dict.fromkeys(name for fields in values.values() for name in fields))
    kept = list(runs)
    for text in filters:
        name, accepts = _parsed_filter(text)
        _check_known(name, known)
        kept = [run for run in kept if name in values[run.name] and accepts(values[run.name][name])]
    if not sort:
        return kept
    name, descending = sort.removeprefix("-"), sort.startswith("-")
    _check_known(name, known)
    having = [run for run in kept if name in values[run.name]]
    having.sort(key=lambda run: _sortable(values[run.name][name]), reverse=descending)
    return having + [run for run in kept if name not in values[run.name]]


def _check_known(name: str, known: Sequence[str]) -> None:
    if known and name not in known:
        raise GlasshouseError(
            f"no run has a field {name!r}{catalogue.did_you_mean(name, known)}; use name, status, steps, data, task, "
            "recipe, date, a metric such as validation.loss, or a field of the spec such as model.width"
        )


def _parsed_filter(text: str) -> tuple[str, Callable[[Any], bool]]:
    """The field of a filter, and a function that says whether a value passes."""
    match = _FILTER.fullmatch(text.strip())
    if not match:
        raise GlasshouseError(
            f"{text!r} is no filter; write FIELD=VALUE, FIELD<NUMBER or FIELD>NUMBER, such as 'model.width>64'"
        )
    name, sign, wanted = match[1], match[2], match[3].strip()
    limit = _number(wanted)
    if sign == "=":
        return name, lambda value: override_text(value) == wanted or (limit is not None and _number(value) == limit)
    if name == DATE:
        return name, lambda value: value < wanted if sign == "<" else value > wanted
    if limit is None:
        raise GlasshouseError(f"{text!r} compares with {wanted!r}, which is not a number; write {name}{sign}64")

    def accepts(value: Any) -> bool:
        number = _number(value)
        return number is not None and (number < limit if sign == "<" else number > limit)

    return name, accepts


def override_text(value: Any) -> str:
    """A value as an override has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, list | tuple):
        return str(value)
    # Anything but plain words is quoted: a comma in an item is no end of it, and 1 or true could be no text.
    plain = all(not isinstance(item, str) or _PLAIN_WORD.fullmatch(item) for item in value)
    return f"[{','.join(map(override_text, value) if plain else map(_quoted, value))}]"


def _quoted(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(item, str) else override_text(item)


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | list | tuple) else float(value)
    except ValueError:
        return None


def _sortable(value: Any) -> tuple[bool, float, str]:
    """Numbers by their size, then texts in the order of the alphabet."""
    number = None if isinstance(value, str) else _number(value)
    return (True, 0.0, override_text(value)) if number is None else (False, number, "")
