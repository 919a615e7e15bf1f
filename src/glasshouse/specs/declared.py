"""Settings that a part or a task declares on its own class, and how they become fields of a spec that names it.

A part with settings of its own has a frozen dataclass `Settings`:

    class LocalAttention(Attention):
        @dataclass(frozen=True)
        class Settings:
            window: int = setting(0, "distance at which the window ends; 0 means a quarter of the context", minimum=0)

If a field of a spec names that class (`model.attention=local-window`), `model.window` becomes a field of the same table. Its
value is stored in the table's `own`, and the part receives it as an instance of `Settings`. No other file knows the setting.

A task declares in the same way: `Settings` become fields of `training`, and `EvaluationSettings` fields of `evaluation`. It
reads them with `read_settings(cls.Settings, spec.training.own)`. Tasks that share a setting inherit it from one dataclass.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from glasshouse.specs import catalogue, spec_fields
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import SECTIONS, ModelSpec, Spec
from glasshouse.specs.spec_fields import SpecField

# The tables of a model spec, whose classes may declare settings.
MODEL_SECTIONS = ("model", "model.head")
# The tables of a spec to which a task adds its settings. An optimiser adds its own to `training` too.
TASK_SECTIONS = ("training", "evaluation")
# The tables of a spec whose classes may declare settings.
OPEN_SECTIONS = (*MODEL_SECTIONS, *TASK_SECTIONS)

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class NoSettings:
    """The settings of a part that declares none."""


def settings_class(part: Any, section: str = "") -> type:
    """The dataclass of settings that a class declares for a table."""
    return getattr(part, "EvaluationSettings" if section == "evaluation" else "Settings", NoSettings)


def read_settings(settings: type[Settings], own: Mapping[str, Any]) -> Settings:
    """An instance of a declared dataclass: values from a table's `own`, and defaults for the others."""
    declared: type = settings
    return settings(**{name: own[name] for name in spec_fields.fields(declared) if name in own})


def settings_of(part: Any, own: Mapping[str, Any]) -> Any:
    """The settings of a part, from the `own` of its table."""
    return read_settings(settings_class(part), own)


def section(spec: Spec, name: str) -> Any:
    """A table of a spec by its dotted name."""
    return reduce(getattr, name.split("."), spec)


def with_section(spec: Spec, name: str, table: Any) -> Spec:
    """The spec with one table replaced; `name` is the dotted name of the table."""
    outer, _, inner = name.rpartition(".")
    if outer:
        return with_section(spec, outer, replace(section(spec, outer), **{inner: table}))
    return replace(spec, **{inner: table})


def head_kind(model: ModelSpec, task: str = "") -> str:
    """The head of a model: the head that the spec names, else the task's head, else the default of the kind of model."""
    if model.head.kind:
        return model.head.kind
    task_head = catalogue.find("task", task, "task").head if task else ""
    return task_head or catalogue.find("model", model.kind, "model.kind").default_head


def own_fields(spec: Spec, name: str) -> dict[str, SpecField]:
    """The settings declared by the classes that a table names. A setting may name another class, whose settings follow."""
    if name not in OPEN_SECTIONS:
        return {}
    table = section(spec, name)
    own: dict[str, SpecField] = {}
    omitted = catalogue.find("model", spec.model.kind, "model.kind").omits if name == "model" else ()
    pending = [("task", spec.task, "task")] if name in TASK_SECTIONS else []
    pending += [
        (rule.family, getattr(table, field), f"{name}.{field}")
        for field, (kind, rule, _) in spec_fields.fields(SECTIONS[name]).items()
        if rule.family and kind is str and rule.family not in omitted
    ]
    while pending:
        family, word, where = pending.pop(0)
        if where == "model.head.kind":
            word = head_kind(spec.model, spec.task)
        if not word:
            continue
        for field, declared in spec_fields.fields(settings_class(catalogue.find(family, word, where), name)).items():
            if own.setdefault(field, declared) != declared:
                reason = f"{name}.{field} is declared by two of the chosen parts, and {where}={word} declares it differently"
                raise SpecError(f"{reason}; rename the setting of one part")
            if declared.rule.family:
                pending.append((declared.rule.family, table.own.get(field, declared.default), f"{name}.{field}"))
    return own


def fields_of(spec: Spec, name: str) -> dict[str, SpecField]:
    """Every field of a table: first the fields of every spec, then the settings that its parts declare."""
    return {**spec_fields.fields(SECTIONS[name]), **own_fields(spec, name)}


def value_of(spec: Spec, name: str) -> Any:
    """The value of a field by its dotted name, whether the spec or a part declares it."""
    table_name, _, field = name.rpartition(".")
    table = section(spec, table_name)
    if field in spec_fields.fields(SECTIONS[table_name]):
        return getattr(table, field)
    return table.own[field] if field in table.own else own_fields(spec, table_name)[field].default


def find_field(name: str) -> SpecField | None:
    """A field by its dotted name, of every spec or as the first part declares it; None if there is no such field."""
    section_name, _, field = name.rpartition(".")
    if section_name not in SECTIONS:
        return None
    base = spec_fields.fields(SECTIONS[section_name])
    if field in base:
        return base[field]
    owners = declarations(section_name).get(field)
    return owners[0][1] if owners else None


def find_value(spec: Spec, name: str) -> Any:
    """As `value_of`; None if this spec has no such field."""
    section_name, _, field = name.rpartition(".")
    return value_of(spec, name) if field in fields_of(spec, section_name) else None


def completed(spec: Spec) -> Spec:
    """The spec with defaults filled in for every declared setting, so that equal models have equal specs."""
    for name in OPEN_SECTIONS:
        table, declared = section(spec, name), own_fields(spec, name)
        own = {field: table.own.get(field, setting.default) for field, setting in declared.items()}
        spec = with_section(spec, name, replace(table, own=own))
    return spec


def pruned(spec: Spec) -> Spec:
    """The spec without the values of settings that none of its parts declares."""
    for name in OPEN_SECTIONS:
        table = section(spec, name)
        if table.own:
            declared = own_fields(spec, name)
            own = {field: value for field, value in table.own.items() if field in declared}
            spec = with_section(spec, name, replace(table, own=own))
    return spec


def declarations(name: str) -> dict[str, list[tuple[str, SpecField]]]:
    """Every setting that any class declares for a table: setting name -> [("model.attention=local-window", field), ...]."""
    settings: dict[str, list[tuple[str, SpecField]]] = {}
    base = spec_fields.fields(SECTIONS[name]) if name in OPEN_SECTIONS else {}
    pending = [("task", "task")] if name in TASK_SECTIONS else []
    pending += [(rule.family, f"{name}.{field}") for field, (kind, rule, _) in base.items() if rule.family and kind is str]
    # The loop extends the list: a declared setting may name a family whose classes declare more settings.
    for family, where in pending:
        for word, part in catalogue.loadable(family).items():
            for field, declared in spec_fields.fields(settings_class(part, name)).items():
                settings.setdefault(field, []).append((f"{where}={word}", declared))
                if declared.rule.family and (declared.rule.family, f"{name}.{field}") not in pending:
                    pending.append((declared.rule.family, f"{name}.{field}"))
    return settings
