"""Specs from and to TOML, nested dictionaries and dotted overrides. Every way in passes through `from_tables`."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

from glasshouse.specs import catalogue, combinations, spec_fields
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import SECTIONS, Spec


def from_tables(tables: Mapping[str, Any]) -> Spec:
    """A checked spec from nested dictionaries (as TOML gives them)."""
    return checked(unchecked(tables))


def from_toml(text: str, where: str) -> Spec:
    """A checked spec from TOML text; `where` is the file named in an error."""
    try:
        tables = tomllib.loads(text)
        if not tables:
            raise SpecError("the spec is empty; it must say at least which text and how many steps")
        return from_tables(tables)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{where} is not TOML: {error}") from None
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None


def load(path: Path) -> Spec:
    """A checked spec from a TOML file, such as a run's spec.toml."""
    try:
        return from_toml(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot read the spec {path}: {error}") from None


def override(spec: Spec, changes: Iterable[str]) -> Spec:
    """The spec with `section.field=value` applied in order; `task=...` is allowed too."""
    tables: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise SpecError(f"{change!r} is not field=value; write for example model.width=64")
        section, dot, field = name.strip().rpartition(".")
        if name.strip() in SECTIONS:
            raise SpecError(_section_of_fields(name.strip()))
        if not dot:
            if field != "task":
                raise SpecError(_unknown_field(name.strip()))
            tables["task"] = text.strip()
        else:
            kind = _rule_of(section, field)[0]
            table = tables
            for word in section.split("."):
                table = table.setdefault(word, {})
            table[field] = spec_fields.from_text(kind, text, name.strip())
    return checked(_with_tables(spec, tables))


def unchecked(*layers: Mapping[str, Any]) -> Spec:
    """A spec from several layers of tables, later ones winning, whose combinations are still to be checked."""
    spec = Spec()
    for tables in layers:
        spec = _with_tables(spec, tables)
    return spec


def checked(spec: Spec) -> Spec:
    """The spec itself, once every field and every combination has passed."""
    catalogue.check("task", spec.task, "task")
    for table, cls in SECTIONS.items():
        for name, (_, rule, _) in spec_fields.fields(cls).items():
            spec_fields.check(getattr(section(spec, table), name), rule, f"{table}.{name}")
    combinations.check(spec)
    return spec


def to_toml(spec: Spec) -> str:
    """TOML text that `from_toml` reads back as an equal spec."""
    lines = [f"task = {_toml(spec.task)}"]
    for table, cls in SECTIONS.items():
        lines += ["", f"[{table}]"]
        lines += [f"{name} = {_toml(getattr(section(spec, table), name))}" for name in spec_fields.fields(cls)]
    return "\n".join(lines) + "\n"


def renewed(text: str) -> str:
    """What `to_toml` would write today for text that it wrote once: fields that have come since stand at their usual values.

    Text that cannot be read any more stays as it is.
    """
    try:
        return to_toml(from_toml(text, "a kept spec"))
    except SpecError:
        return text


def _with_tables(spec: Spec, tables: Mapping[str, Any]) -> Spec:
    for section, table in tables.items():
        if section == "task":
            if not isinstance(table, str):
                raise SpecError(f"task={table!r} is not text")
            spec = replace(spec, task=table)
            continue
        if section not in SECTIONS:
            raise SpecError(_unknown_field(section))
        spec = replace(spec, **{section: _with_table(getattr(spec, section), section, table)})
    return spec


def _with_table(own: Any, section: str, table: Any) -> Any:
    """A section with the values of a table, and those of the tables inside it."""
    if not isinstance(table, Mapping):
        raise SpecError(_section_of_fields(section))
    values: dict[str, Any] = {}
    for name, value in table.items():
        if f"{section}.{name}" in SECTIONS:
            values[name] = _with_table(getattr(own, name), f"{section}.{name}", value)
            continue
        if f"{section}.{name}".rpartition(".")[0] in SECTIONS and "." in name:
            inner, _, last = name.rpartition(".")
            raise SpecError(f"{section}.{name} stands in a table of its own: write {{{inner!r}: {{{last!r}: ...}}}}")
        kind, rule, _ = _rule_of(section, name)
        values[name] = spec_fields.coerce(kind, value, f"{section}.{name}")
        if rule.instead_of and rule.instead_of not in table and values[name]:
            values[rule.instead_of] = spec_fields.fields(SECTIONS[section])[rule.instead_of][2]
    return replace(own, **values)


def section(spec: Spec, name: str) -> Any:
    """A table of a spec by its dotted name."""
    return reduce(getattr, name.split("."), spec)


def _rule_of(section: str, field: str) -> tuple[Any, spec_fields.FieldRule, Any]:
    known = spec_fields.fields(SECTIONS[section]) if section in SECTIONS else {}
    if field not in known:
        raise SpecError(_unknown_field(f"{section}.{field}"))
    return known[field]


def _unknown_field(name: str) -> str:
    every = [f"{section}.{field}" for section, cls in SECTIONS.items() for field in spec_fields.fields(cls)]
    section, _, field = name.rpartition(".")
    same_field = [known for known in every if known.rpartition(".")[2] == field]
    hint = f"; did you mean {same_field[0]!r}?" if same_field else catalogue.nearest(name, every)
    own = list(spec_fields.fields(SECTIONS[section])) if section in SECTIONS else []
    listing = f"the fields of {section} are: {', '.join(own)}" if own else f"the sections are: {', '.join(SECTIONS)}"
    return f"there is no field {name!r}{hint} ({listing})"


def _section_of_fields(section: str) -> str:
    first = next(iter(spec_fields.fields(SECTIONS[section])))
    return f"{section} is a section of fields; write for example {section}.{first}=..."


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
