"""The overrides with which a recipe resolves to a given spec, the inverse of `resolve_spec`. Trains nothing."""

from collections.abc import Iterable
from typing import Any

from glasshouse.runs import resolve_spec
from glasshouse.specs import declared, recipes, spec_files
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import SECTIONS, Spec
from glasshouse.training import warm_start

# How far a recipe has adapted to data is no field that a user names.
ADAPT = "data.adapt"


def fields_to_name(recipe: str, spec: Spec) -> list[str]:
    """The fields that a command must name so that this recipe resolves to this spec.

    These are the fields in which the spec differs from the recipe, from the run that training starts from, or from the
    defaults of its parts. A field that would adapt to the data again is named too, also if it has the recipe's value.
    """
    usual, names = spec_files.unchecked(recipes.tables_of(recipe)), []
    if spec.task != usual.task:
        names.append("task")
    names += _without_resets(spec, [name for name in _fields(spec) if _value(spec, name) != _value(spec, name, usual)])
    if spec.training.start_from:
        inherited = ("data.tokenizer", "data.tokenizer_file", *(f"model.{name}" for name in _shared(spec)))
        names = [name for name in names if name not in inherited] + fields_beside_start(spec)
    while left := [name for name in resolve_spec.adapting(recipe, spec, names) if name not in spec.data.adapt]:
        names.append(left[0])
    order = ["task", *_fields(spec)]
    return sorted(names, key=order.index)


def fields_beside_start(spec: Spec) -> list[str]:
    """The fields in which a spec differs from the run that it starts from. All that it could inherit if that run is gone."""
    start, data = spec.training.start_from, spec.data
    try:
        # A download is not worth a shorter command.
        origin = None if warm_start.importer_of(start) == "hub" else warm_start.find(start)
        inherited = warm_start.inherited_fields(origin.spec()) if origin else {}
    except GlasshouseError:
        origin, inherited = None, {}
    names = [f"model.{name}" for name, value in _shared(spec).items() if name not in inherited or inherited[name] != value]
    own_tokenizer = (
        origin is not None and origin.tokenizer_file.exists() and str(origin.tokenizer_file) != data.tokenizer_file
    )
    if data.tokenizer_file and own_tokenizer:
        names.append("data.tokenizer_file")
    elif not data.tokenizer_file:
        names.append("data.tokenizer")
    return names


def words(spec: Spec, fields: Iterable[str]) -> list[str]:
    """The values of these fields as overrides."""
    return [f"{name}={spec_files.override_text(spec.task if name == 'task' else _value(spec, name))}" for name in fields]


def _fields(spec: Spec) -> list[str]:
    """Every field of a spec by its dotted name, but for the task."""
    names = [f"{section}.{name}" for section in SECTIONS for name in declared.fields_of(spec, section)]
    return [name for name in names if name != ADAPT]


def _value(spec: Spec, name: str, usual: Spec | None = None) -> Any:
    """The value of a field of this spec, or the value that it has in another spec with the same parts."""
    section, _, field = name.rpartition(".")
    table = declared.section(usual or spec, section)
    if hasattr(table, field):
        return getattr(table, field)
    return table.own.get(field, declared.fields_of(spec, section)[field].default)


def _without_resets(spec: Spec, names: list[str]) -> list[str]:
    """The fields without those that get their value because another field is set: `training.epochs` resets the steps."""
    reset = set()
    for name in names:
        section, _, field = name.rpartition(".")
        known = declared.fields_of(spec, section)
        other = known[field].rule.instead_of
        if other and _value(spec, name) and _value(spec, f"{section}.{other}") == known[other].default:
            reset.add(f"{section}.{other}")
    return [name for name in names if name not in reset]


def _shared(spec: Spec) -> dict[str, Any]:
    """The fields of the model that a run could inherit from the run that it starts from."""
    return warm_start.inherited_fields(spec)
