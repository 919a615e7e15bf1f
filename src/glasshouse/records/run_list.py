"""Lists of runs: how they are sorted and filtered, and how two runs differ. Reads run folders; loads no model."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from glasshouse.records.run_entries import RunEntry
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import GlasshouseError

_FILTER = re.compile(r"([\w.-]+)\s*([=<>])\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class RunDifferences:
    """Two runs beside each other. A field or metric that a run does not have is None.

    `fields` are the fields of the specs with different values: (name, first, second). `metrics` are all final metrics of
    either: (split.metric, first, second).
    """

    names: tuple[str, str]
    fields: tuple[tuple[str, Any, Any], ...]
    metrics: tuple[tuple[str, float | None, float | None], ...]


def differences(first: RunFolder, second: RunFolder) -> RunDifferences:
    """The differences between two runs."""
    fields = _side_by_side(*(spec_files.flat_fields(run.tables()) for run in (first, second)))
    metrics = _side_by_side(*(spec_files.flat_fields(run.final_metrics()) for run in (first, second)))
    return RunDifferences(
        (first.name, second.name), tuple((name, one, other) for name, one, other in fields if one != other), tuple(metrics)
    )


def _side_by_side(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(name, first.get(name), second.get(name)) for name in {**first, **second}]


def arranged(runs: Sequence[RunEntry], sort: str | None = None, filters: Sequence[str] = ()) -> list[RunEntry]:
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
        return (
            name,
            lambda value: spec_files.override_text(value) == wanted or (limit is not None and _number(value) == limit),
        )
    if name == "date":
        return name, lambda value: value < wanted if sign == "<" else value > wanted
    if limit is None:
        raise GlasshouseError(f"{text!r} compares with {wanted!r}, which is not a number; write {name}{sign}64")

    def accepts(value: Any) -> bool:
        number = _number(value)
        return number is not None and (number < limit if sign == "<" else number > limit)

    return name, accepts


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | list | tuple) else float(value)
    except ValueError:
        return None


def _sortable(value: Any) -> tuple[bool, float, str]:
    """Numbers by their size, then texts in the order of the alphabet."""
    number = None if isinstance(value, str) else _number(value)
    return (True, 0.0, spec_files.override_text(value)) if number is None else (False, number, "")
