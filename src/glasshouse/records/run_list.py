"""The runs of the runs folder: sorted, filtered, compared, renamed, deleted. Loads no model.

A run that is in use stays, and symbolic links are not followed.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.records import atomic_files, lock, progress_bar, run_folder
from glasshouse.records.run_entries import RunEntry
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import GlasshouseError, RunError

IN_USE = "wait for it or stop it first"
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
    fields = _side_by_side(first.tables(), second.tables())
    metrics = _side_by_side(first.final_metrics(), second.final_metrics())
    return RunDifferences((first.name, second.name), tuple(each for each in fields if each[1] != each[2]), tuple(metrics))


def _side_by_side(*tables: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    first, second = map(spec_files.flat_fields, tables)
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
        raise GlasshouseError(f"{text!r} is no filter; write FIELD=VALUE, FIELD<NUMBER or FIELD>NUMBER: 'model.width>64'")
    name, sign, wanted = match[1], match[2], match[3].strip()
    limit = _number(wanted)
    if limit is None and sign != "=" and name != "date":
        raise GlasshouseError(f"{text!r} compares with {wanted!r}, which is not a number; write {name}{sign}64")

    def accepts(value: Any) -> bool:
        number: Any = value if name == "date" else _number(value)
        bound: Any = wanted if name == "date" else limit
        if sign == "=":
            return spec_files.override_text(value) == wanted or (bound is not None and number == bound)
        return number is not None and (number < bound if sign == "<" else number > bound)

    return name, accepts


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | list | tuple) else float(value)
    except ValueError:
        return None


def _sortable(value: Any) -> tuple[bool, float, str]:
    number = None if isinstance(value, str) else _number(value)
    return (True, 0.0, spec_files.override_text(value)) if number is None else (False, number, "")


def own_run(name: str) -> RunFolder:
    """The run with this name in the runs folder itself. A damaged run counts; a path or a link does not."""
    path = run_folder.root() / run_folder.checked_name(name)
    if path.is_symlink():
        raise RunError(f"{path} is a symbolic link to a run elsewhere, which is left alone; change the link with ln or rm")
    if not path.is_dir():
        raise run_folder.unknown(name)
    if not any(os.path.lexists(path / file) for file in ("spec.toml", "run.json")):
        raise RunError(f"{path} is not a run folder: it has neither spec.toml nor run.json; delete it by hand")
    return RunFolder(path)


def rename(old: str, new: str) -> RunFolder:
    """Give a run another name. The runs that were created together with it learn the new name."""
    run = own_run(old)
    target = run.path.with_name(run_folder.checked_name(new))
    if os.path.lexists(target):
        raise RunError(f"{target} already exists; choose another name")
    with lock.hold(run.path, IN_USE):
        _warn_of_dependents([run])
        os.rename(run.path, target)
        for other in run_folder.all_runs():
            _replace_name(other, old, new)
    return RunFolder(target)


def _replace_name(run: RunFolder, old: str, new: str) -> None:
    """Correct the lists in `run.json` of the runs that were created with a renamed one, and that take steps with it."""
    try:
        facts = run.facts()
    except GlasshouseError:
        return
    for key, before, after in (("family", old, new), ("together", f"../{old}", f"../{new}")):
        names = facts.get(key)
        if isinstance(names, list) and before in names:
            run.record(**{key: [after if name == before else name for name in names]})


def delete(names: Sequence[str], confirm: Callable[[list[str]], bool]) -> list[str]:
    """Delete runs if `confirm` agrees, and return their names. All of them are locked before the first is deleted."""
    runs = [own_run(name) for name in dict.fromkeys(names)]
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(lock.hold(run.path, IN_USE))
        if not confirm([run.name for run in runs]):
            return []
        _warn_of_dependents(runs)
        for run in runs:
            atomic_files.delete_folder(run.path)
    return [run.name for run in runs]


def _warn_of_dependents(runs: Sequence[RunFolder]) -> None:
    """Tell which other runs started from one of these."""
    changed = {os.path.realpath(run.path) for run in runs}
    for other in run_folder.all_runs():
        try:
            start = other.tables().get("training", {}).get("start_from", "")
        except GlasshouseError:
            continue
        if start and Path(start).is_absolute() and os.path.realpath(start) in changed - {os.path.realpath(other.path)}:
            progress_bar.say(f"warning: the spec of {other.name} starts from {start}, which it no longer finds")
