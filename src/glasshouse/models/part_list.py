"""Every part that a spec can name: its word, its docstring, its settings, and what it cannot do. Knows no terminal."""

from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc

from glasshouse.specs import catalogue, declared, spec_fields
from glasshouse.specs.errors import SpecError

# The families of parts, and where a spec names one of each.
FAMILIES = {
    "model": "model.kind",
    "embedding": "model.embedding",
    "attention": "model.attention",
    "position": "model.position",
    "norm": "model.norm",
    "connection": "model.connection",
    "feed_forward": "model.activation",
    "cell": "model.cell",
    "head": "model.head.kind",
}


@dataclass(frozen=True)
class PartSetting:
    """A setting that a part declares: its dotted name in a spec, its default, and what it means."""

    name: str
    default: object
    about: str


@dataclass(frozen=True)
class PartEntry:
    """A part: its word, its class, its docstring, its own settings, and the capabilities it lacks with the reasons."""

    word: str
    field: str
    name: str
    about: str
    source: str
    settings: tuple[PartSetting, ...]
    unsupported: dict[str, str]


def family(name: str) -> list[PartEntry]:
    """Every part of a family."""
    name = {field.rpartition(".")[2]: family for family, field in FAMILIES.items()}.get(name, name).replace("-", "_")
    if name not in FAMILIES:
        raise SpecError(
            "unknown-word",
            f"there is no family {name!r}{catalogue.nearest(name, FAMILIES)} (they are: {', '.join(FAMILIES)})",
        )
    return [_entry(name, word) for word in catalogue.names(name)]


def _entry(name: str, word: str) -> PartEntry:
    part = catalogue.find(name, word)
    module = import_module(part.__module__)
    shared = sum(catalogue.find(name, other).__module__ == part.__module__ for other in catalogue.names(name)) > 1
    return PartEntry(
        word=word,
        field=FAMILIES[name],
        name=".".join([*part.__module__.split(".")[:2], part.__name__]),
        about=cleandoc(part.__doc__ or ""),
        # A module of several parts speaks of none of them in particular.
        source="" if shared else cleandoc(module.__doc__ or "").split("\n\n")[0],
        settings=tuple(
            PartSetting(f"{FAMILIES[name].rpartition('.')[0]}.{field}", each.default, each.rule.about)
            for field, each in spec_fields.fields(declared.settings_class(part)).items()
        ),
        unsupported=dict(getattr(part, "unsupported", {})),
    )
