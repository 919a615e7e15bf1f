"""Read and write specs: TOML text, nested dictionaries and dotted overrides. Every input passes the same checks."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from glasshouse.specs import catalogue, combinations, declared, spec_fields, toml_text
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import SECTIONS, ModelSpec, Spec
from glasshouse.specs.spec_fields import SpecField

# Rises when the release before could not read the spec files that are written now.
FORMAT = 1
# Names of settings in other programs that mean the same as a field here, in the same unit. Overrides accept them.
ALIASES = {
    "lr": "training.learning_rate",
    "learning_rate": "training.learning_rate",
    "batch_size": "training.batch",
    "epochs": "training.epochs",
    "num_epochs": "training.epochs",
    "num_train_epochs": "training.epochs",
    "steps": "training.steps",
    "max_iters": "training.steps",
    "max_steps": "training.steps",
    "seed": "training.seed",
    "weight_decay": "training.weight_decay",
    "grad_clip": "training.clip",
    "max_grad_norm": "training.clip",
    "warmup_ratio": "training.warmup",
    "optimizer": "training.optimiser",
    "label_smoothing": "training.label_smoothing",
    "block_size": "data.context",
    "max_length": "data.context",
    "max_seq_len": "data.context",
    "vocab_size": "data.vocabulary",
    "n_layer": "model.layers",
    "num_layers": "model.layers",
    "n_head": "model.heads",
    "num_heads": "model.heads",
    "n_embd": "model.width",
    "d_model": "model.width",
    "hidden_size": "model.width",
    "d_ff": "model.feed_forward",
    "dropout": "model.dropout",
    "eval_interval": "evaluation.every",
}
# Name of a field in other programs -> its name here, for the hint in an error. A name that is no alias is ambiguous, or
# differs in its unit or its values.
KNOWN_ELSEWHERE = {
    **{alias: name for alias, field in ALIASES.items() if (name := field.rpartition(".")[2]) != alias},
    "micro_batch_size": "gradient_accumulation",
    "betas": "beta2",
    "dtype": "precision",
    "depth": "layers",
    "dim": "width",
    "normalization": "norm",
    "normalisation": "norm",
}
# An item of a list that needs no quotes on a command line.
_PLAIN_WORD = re.compile(r"(?!(true|false|inf|nan)\Z)[A-Za-z~./][\w~./-]*")


def from_toml(text: str, where: str) -> Spec:
    """A checked spec from text that `to_toml` wrote. Errors name the file `where`."""
    try:
        tables = tables_from_toml(text, where)
        if not tables:
            raise SpecError("the spec is empty; set at least the data and the number of steps")
        return checked(unchecked(tables))
    except SpecError as error:
        raise error.within(where) from None


def tables_from_toml(text: str, where: str) -> dict[str, Any]:
    """The tables of a spec's TOML text. Text without `format`, which a person wrote, has the current one."""
    try:
        tables = toml_text.parse(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{where} is not TOML: {error}; correct its syntax") from None
    if (found := tables.pop("format", FORMAT)) != FORMAT:
        raise SpecError(f"{where} has format={found!r}, not {FORMAT}; install the version of Glasshouse that wrote it")
    return tables


def load(path: Path) -> Spec:
    """A checked spec from a TOML file, such as a run's spec.toml."""
    try:
        return from_toml(toml_text.read_text(path), str(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"the spec {path} cannot be read: {error}; restore or correct the file") from None


def override(spec: Spec, changes: Iterable[str]) -> Spec:
    """The checked spec with each `section.field=value` applied. `task=...` is allowed too."""
    tables: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise SpecError(f"{change!r} is not field=value; write for example model.width=64")
        section, dot, field = name.strip().rpartition(".")
        if name.strip() in SECTIONS:
            raise SpecError(_not_a_field(name.strip()))
        if not dot:
            if field != "task":
                raise SpecError(_unknown_field(spec, name.strip()))
            tables["task"] = text.strip()
        else:
            if section not in SECTIONS:
                raise SpecError(_unknown_field(spec, name.strip()))
            table = tables
            for word in section.split("."):
                table = table.setdefault(word, {})
            table[field] = _Text(text)
    return checked(_with_tables(spec, tables))


def with_full_name(word: str) -> str:
    """An override with the name of its field, if it has an alias: `lr=1e-3` is `training.learning_rate=1e-3`."""
    name, equals, value = word.partition("=")
    return f"{ALIASES.get(name.strip(), name)}{equals}{value}"


class _Text(str):
    """A value as text from the command line, to be parsed by the type of its field."""


def unchecked(*layers: Mapping[str, Any]) -> Spec:
    """A spec from several layers of tables; a later layer wins. Combinations of fields are not checked yet."""
    spec = Spec()
    for tables in layers:
        spec = _with_tables(spec, tables)
    return spec


def checked(spec: Spec) -> Spec:
    """Check every field and every combination, and fill in the defaults of settings that the parts declare."""
    catalogue.check("task", spec.task, "task")
    for table in SECTIONS:
        _check_fields(spec, table, spec_fields.fields(SECTIONS[table]))
    combinations.check(spec)
    spec = declared.completed(spec)
    for table in declared.OPEN_SECTIONS:
        _check_fields(spec, table, declared.own_fields(spec, table))
    return spec


def _check_fields(spec: Spec, table: str, fields: Mapping[str, SpecField]) -> None:
    for name, field in fields.items():
        spec_fields.check(declared.value_of(spec, f"{table}.{name}"), field.rule, f"{table}.{name}")


def model_spec(**fields: Any) -> ModelSpec:
    """A model spec from its fields, including those that parts declare: `model_spec(kind="encoder", causal=True)`."""
    return declared.completed(unchecked({"model": fields})).model


def check_declared(model: ModelSpec) -> None:
    """Refuse a setting in `own` that no part of the model declares."""
    spec = Spec(model=model)
    for section in declared.MODEL_SECTIONS:
        known = declared.own_fields(spec, section)
        for name, value in declared.section(spec, section).own.items():
            if name not in known:
                raise _undeclared(spec, section, name, value)


def to_toml(spec: Spec) -> str:
    """TOML text that `from_toml` reads back as an equal spec."""
    lines = [f"format = {FORMAT}", f"task = {_toml(spec.task)}"]
    for table in SECTIONS:
        lines += ["", f"[{table}]"]
        for name, field in declared.fields_of(spec, table).items():
            value = declared.value_of(spec, f"{table}.{name}")
            if not field.rule.rare or value != field.default:
                lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def difference(old: Spec, new: Spec) -> str:
    """The first field in which two specs differ, with both values; empty if they are equal."""
    if old.task != new.task:
        return f"task={old.task}, not task={new.task}"
    for section in SECTIONS:
        for field in {**declared.fields_of(old, section), **declared.fields_of(new, section)}:
            name = f"{section}.{field}"
            values = declared.find_value(old, name), declared.find_value(new, name)
            if values[0] != values[1]:
                before, after = ("absent" if value is None else _toml(value) for value in values)
                return f"{name}={before}, not {name}={after}"
    return ""


def _with_tables(spec: Spec, tables: Mapping[str, Any]) -> Spec:
    """The spec with one layer of tables applied.

    Fields of every spec come first. They name the parts, and the parts declare the remaining fields. If this layer replaces
    a part, the settings of the old part are dropped.
    """
    own: dict[str, dict[str, Any]] = {}
    for section, table in tables.items():
        if section == "task":
            if not isinstance(table, str):
                raise SpecError("must be text, such as 'next-token'", "task", table)
            spec = replace(spec, task=str(table))
            continue
        if section not in SECTIONS or "." in section:
            raise SpecError(_unknown_field(spec, section))
        spec = _with_fields(spec, section, table, own)
    if "task" in tables:
        catalogue.check("task", spec.task, "task")
    spec = declared.pruned(spec)
    for section, values in own.items():
        spec = _with_own(spec, section, values)
    return spec


def _with_fields(spec: Spec, section: str, table: Any, own: dict[str, dict[str, Any]]) -> Spec:
    """The spec with the values of a table's ordinary fields. The remaining values are collected in `own`, by section."""
    if not isinstance(table, Mapping):
        raise SpecError(_not_a_field(section))
    known, values = spec_fields.fields(SECTIONS[section]), {}
    for name, value in table.items():
        where = f"{section}.{name}"
        if where in SECTIONS:
            spec = _with_fields(spec, where, value, own)
        elif where.rpartition(".")[0] in SECTIONS and "." in name:
            inner, _, last = name.rpartition(".")
            raise SpecError(f"{where} belongs to an inner table; write {{{inner!r}: {{{last!r}: ...}}}}")
        elif name in known:
            kind, rule, _ = known[name]
            values[name] = _value(kind, value, where)
            if rule.family and isinstance(values[name], str) and values[name]:
                catalogue.check(rule.family, values[name], where)
            if rule.instead_of and rule.instead_of not in table and values[name]:
                values[rule.instead_of] = known[rule.instead_of].default
        elif section in declared.OPEN_SECTIONS:
            own.setdefault(section, {})[name] = value
        else:
            raise SpecError(_unknown_field(spec, where))
    return declared.with_section(spec, section, replace(declared.section(spec, section), **values))


def _with_own(spec: Spec, section: str, values: Mapping[str, Any]) -> Spec:
    """The spec with the values of settings that its parts declare. One setting may name the class that declares another."""
    waiting = dict(values)
    while waiting:
        kinds = {name: field.kind for name, field in declared.own_fields(spec, section).items() if name in waiting}
        ready = {name: _value(kind, waiting[name], f"{section}.{name}") for name, kind in kinds.items()}
        if not ready:
            name = next(iter(waiting))
            raise _undeclared(spec, section, name, waiting[name])
        table = declared.section(spec, section)
        spec = declared.with_section(spec, section, replace(table, own={**table.own, **ready}))
        waiting = {name: value for name, value in waiting.items() if name not in ready}
    return spec


def _value(kind: Any, value: Any, where: str) -> Any:
    return spec_fields.from_text(kind, value, where) if isinstance(value, _Text) else spec_fields.coerce(kind, value, where)


def _undeclared(spec: Spec, section: str, name: str, value: Any) -> SpecError:
    """The error for a setting that no part in this spec declares; it names the parts that do."""
    owners = [owner for owner, _ in declared.declarations(section).get(name, ())]
    if not owners:
        return SpecError(_unknown_field(spec, f"{section}.{name}"))
    fields = dict.fromkeys(owner.partition("=")[0] for owner in owners)
    chosen = {"task": spec.task, "model.head.kind": declared.head_kind(spec.model, spec.task)}
    current = " and ".join(f"{field}={chosen.get(field) or declared.find_value(spec, field)!r}" for field in fields)
    value_text = value if isinstance(value, _Text) else repr(value)
    return SpecError(
        f"{section}.{name}={value_text} is a setting of {' or '.join(owners)}, but this spec has {current}; remove it"
    )


def _unknown_field(spec: Spec, name: str) -> str:
    possible = {section: [*spec_fields.fields(SECTIONS[section]), *declared.declarations(section)] for section in SECTIONS}
    known = [f"{section}.{field}" for section, fields in possible.items() for field in fields]
    section, _, field = name.rpartition(".")
    field = KNOWN_ELSEWHERE.get(field, field)
    same_field = [candidate for candidate in known if candidate.rpartition(".")[2] == field]
    hint = f"; did you mean {same_field[0]!r}?" if same_field else catalogue.did_you_mean(name, known)
    siblings = list(declared.fields_of(spec, section)) if section in SECTIONS else []
    names = f"the fields of {section} are: {', '.join(siblings)}" if siblings else f"the sections are: {', '.join(SECTIONS)}"
    return f"there is no field {name!r}{hint} ({names})"


def _not_a_field(section: str) -> str:
    first = next(iter(spec_fields.fields(SECTIONS[section])))
    return f"{section} is a section, not a field; set one of its fields, for example {section}.{first}=..."


def flat_fields(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The fields in nested tables by their dotted names, unchecked."""
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        flat |= flat_fields(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def override_text(value: Any) -> str:
    """A value as an override has it."""
    if isinstance(value, bool):
        return _toml(value)
    if not isinstance(value, list | tuple):
        return str(value)
    # Anything but plain words is quoted: a comma in an item is no end of it, and 1 or true could be no text.
    plain = all(not isinstance(item, str) or _PLAIN_WORD.fullmatch(item) for item in value)
    return f"[{','.join(override_text(item) if plain or not isinstance(item, str) else _toml(item) for item in value)}]"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        # A JSON string is a TOML basic string, except that TOML requires DEL to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
