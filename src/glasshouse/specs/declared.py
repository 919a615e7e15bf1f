"""Settings that a class of a catalogue declares for itself, and how they join the spec that names the class.

A part with settings of its own holds a frozen dataclass `Settings`:

    class LocalAttention(Attention):
        @dataclass(frozen=True)
        class Settings:
            window: int = setting(0, "distance at which the window ends; 0 means a quarter of the context", minimum=0)

Where a field of a spec names that class (`model.attention=local-window`), `model.window` is a field of the same table. Its
value lies in the table's `own`, and the part receives it as an instance of `Settings`. No other file has to know it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from glasshouse.specs import catalogue, spec_fields
from glasshouse.specs.own_settings import OwnSettings
from glasshouse.specs.spec import SECTIONS, ModelSpec, Spec
from glasshouse.specs.spec_fields import SpecField

# The tables of a spec whose classes may declare settings.
OPEN_SECTIONS = ("model", "model.head")


@dataclass(frozen=True)
class NoSettings:
    """What a part without settings of its own declares."""


def settings_class(part: Any) -> type:
    """The dataclass of settings that a class declares."""
    return getattr(part, "Settings", NoSettings)


def settings_of(part: Any, own: Mapping[str, Any]) -> Any:
    """The part's settings: those that a table's `own` holds, and the defaults of the others."""
    declared = settings_class(part)
    return declared(**{name: own[name] for name in spec_fields.fields(declared) if name in own})


def section(spec: Spec, name: str) -> Any:
    """A table of a spec by its dotted name."""
    return reduce(getattr, name.split("."), spec)


def with_section(spec: Spec, name: str, table: Any) -> Spec:
    """The spec with another table in the place of the one of that dotted name."""
    outer, _, inner = name.rpartition(".")
    if outer:
        return with_section(spec, outer, replace(section(spec, outer), **{inner: table}))
    return replace(spec, **{inner: table})


def head_kind(model: ModelSpec, task: str = "") -> str:
    """The head of a model: the one that its spec names, else the task's, else the usual one of the kind of model."""
    if model.head.kind:
        return model.head.kind
    asked = catalogue.find("task", task, "task").head if task else ""
    return asked or getattr(catalogue.find("model", model.kind, "model.kind"), "default_head", "")


def own_fields(spec: Spec, name: str) -> dict[str, SpecField]:
    """The settings that the classes named in a table declare; those of a class that such a setting names are among them."""
    if name not in OPEN_SECTIONS:
        return {}
    table, found = section(spec, name), {}
    omitted = getattr(catalogue.find("model", spec.model.kind, "model.kind"), "omits", ()) if name == "model" else ()
    pending = [
        (rule.family, getattr(table, field), f"{name}.{field}")
        for field, (_, rule, _) in spec_fields.fields(SECTIONS[name]).items()
        if rule.family and rule.family not in omitted
    ]
    while pending:
        family, word, where = pending.pop(0)
        if where == "model.head.kind":
            word = head_kind(spec.model, spec.task)
        if not word:
            continue
        for field, each in spec_fields.fields(settings_class(catalogue.find(family, word, where))).items():
            found[field] = each
            if each.rule.family:
                pending.append((each.rule.family, table.own.get(field, each.default), f"{name}.{field}"))
    return found


def fields_of(spec: Spec, name: str) -> dict[str, SpecField]:
    """Every field of a table: those that each spec has, then those that its parts declare."""
    return {**spec_fields.fields(SECTIONS[name]), **own_fields(spec, name)}


def value_of(spec: Spec, name: str) -> Any:
    """The value of a field by its dotted name, whoever declares it."""
    table, _, field = name.rpartition(".")
    own = section(spec, table)
    if field in spec_fields.fields(SECTIONS[table]):
        return getattr(own, field)
    return own.own[field] if field in own.own else own_fields(spec, table)[field].default


def completed(spec: Spec) -> Spec:
    """The spec with every declared setting written out, so that equal models have equal specs."""
    for name in OPEN_SECTIONS:
        table, declared = section(spec, name), own_fields(spec, name)
        own = OwnSettings({field: table.own.get(field, each.default) for field, each in declared.items()})
        spec = with_section(spec, name, replace(table, own=own))
    return spec


def pruned(spec: Spec) -> Spec:
    """The spec without values of settings that none of its parts declares (any more)."""
    for name in OPEN_SECTIONS:
        table = section(spec, name)
        if table.own:
            declared = own_fields(spec, name)
            own = OwnSettings({field: value for field, value in table.own.items() if field in declared})
            spec = with_section(spec, name, replace(table, own=own))
    return spec


def declarations(name: str) -> dict[str, list[tuple[str, SpecField]]]:
    """Every setting that any class declares for a table: name -> ("model.attention=local-window", its field), ..."""
    found: dict[str, list[tuple[str, SpecField]]] = {}
    base = spec_fields.fields(SECTIONS[name]) if name in OPEN_SECTIONS else {}
    pending = [(rule.family, f"{name}.{field}") for field, (_, rule, _) in base.items() if rule.family]
    # The list grows while it is read: a declared setting may name a class that declares more.
    for family, where in pending:
        for word in catalogue.names(family):
            for field, each in spec_fields.fields(settings_class(catalogue.find(family, word))).items():
                found.setdefault(field, []).append((f"{where}={word}", each))
                if each.rule.family and (each.rule.family, f"{name}.{field}") not in pending:
                    pending.append((each.rule.family, f"{name}.{field}"))
    return found
