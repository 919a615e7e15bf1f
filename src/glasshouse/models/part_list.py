"""A list of all parts that a spec can name: their names, docstrings, settings and missing capabilities. Prints nothing."""

from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc

from glasshouse.models import part_factory
from glasshouse.specs import catalogue, declared, spec_fields
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import SpecField

# Family of parts -> the field of a spec that names a part of the family.
FAMILIES = {
    "model": "model.kind",
    **{family: f"model.{field}" for family, field in part_factory.FIELDS.items()},
    "cell": "model.cell",
    "head": "model.head.kind",
    "optimiser": "training.optimiser",
}


@dataclass(frozen=True)
class PartEntry:
    """One part: its word in a spec's field, class, docstring, first paragraph of its module's, and missing capabilities."""

    word: str
    field: str
    name: str
    about: str
    source: str
    settings: dict[str, SpecField]
    unsupported: dict[str, str]


def part_families() -> dict[str, tuple[str, list[str]]]:
    """Family -> the field of a spec that selects one of its parts, and the values that this field may have."""
    return {family: (field, catalogue.names(family)) for family, field in FAMILIES.items()}


def parts_of(name: str) -> list[PartEntry]:
    """All parts of a family. The family can be named by its name or by its spec field (`activation`)."""
    name = {field.rpartition(".")[2]: family for family, field in FAMILIES.items()}.get(name, name).replace("-", "_")
    if name not in FAMILIES:
        close = catalogue.did_you_mean(name, FAMILIES)
        raise SpecError(f"{name!r} is no family of parts; choose one of: {', '.join(FAMILIES)}{close}")
    return [_entry(name, word) for word in catalogue.names(name)]


def _entry(name: str, word: str) -> PartEntry:
    part = catalogue.find(name, word)
    module = import_module(part.__module__)
    shared = sum(other.__module__ == part.__module__ for other in catalogue.loadable(name).values()) > 1
    return PartEntry(
        word=word,
        field=FAMILIES[name],
        name=_importable_name(part),
        about=cleandoc(part.__doc__ or ""),
        # The docstring of a module with several parts describes no single part.
        source="" if shared else cleandoc(module.__doc__ or "").split("\n\n")[0],
        settings={
            f"{FAMILIES[name].rpartition('.')[0]}.{field}": declaration
            for field, declaration in spec_fields.fields(declared.settings_class(part)).items()
        },
        unsupported=dict(getattr(part, "unsupported", {})),
    )


def _importable_name(part: type) -> str:
    """The name by which a class is imported: from its package, if that exports it, else from its module."""
    package = ".".join(part.__module__.split(".")[:2])
    exported = hasattr(import_module(package), part.__name__)
    return f"{package if exported else part.__module__}.{part.__name__}"
