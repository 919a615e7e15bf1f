"""Settings tables: which field of their config is which field of our spec. Knows no architecture, and no weights.

Our fields have dotted names below `model` (`width`, `head.bias`); `context` and `vocabulary` are there too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from glasshouse.specs import declared, spec_fields
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import SECTIONS, DataSpec, ModelSpec, Spec
from glasshouse.specs.spec_fields import SpecField

Config = Mapping[str, Any]
Values = dict[str, Any]

# What a config calls an activation, and what we do. Of several names for one function the first is written.
ACTIVATIONS: Mapping[str, str] = {
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu_python_tanh": "gelu",
    "gelu_fast": "gelu",
    "gelu": "gelu-exact",
    "gelu_python": "gelu-exact",
    "quick_gelu": "gelu-sigmoid",
    "relu": "relu",
}


@dataclass(frozen=True)
class Setting:
    """One field of ours and the fields of theirs that say it, which must all say the same.

    `default` is what a config without the field means, as a value or as a function of our fields read before. `words` says
    what each value of theirs is called here. Theirs is larger than ours by `offset`. `unequal` is taken where fields differ.
    `zero` says, from our fields, what our 0 stands for, because theirs has no such shorthand.
    """

    ours: str
    theirs: tuple[str, ...]
    default: Any = None
    words: Mapping[str, str] | None = None
    offset: int = 0
    unequal: Any = None
    zero: Callable[[Values], Any] | None = None

    def read(self, config: Config, values: Values) -> Any:
        """Our value, checked by the law of its field."""
        found = [self._value(config, name, values) for name in self.theirs]
        if any(value != found[0] for value in found):
            if self.unequal is not None:
                return self.unequal
            said = " and ".join(f"{name}={value!r}" for name, value in zip(self.theirs, found, strict=True))
            raise CannotImport(
                "unsupported-config", f"{said} differ; they are one setting here, model.{self.ours}, and must be equal"
            )
        where, value = self.theirs[0], found[0]
        if self.words is not None:
            if not isinstance(value, str) or value not in self.words:
                raise CannotImport(
                    "unsupported-config", f"{where}={value!r} is not supported; supported: {', '.join(self.words)}"
                )
            return self.words[value]
        kind, rule, _ = field_of(self.ours)
        value = spec_fields.coerce(kind, value, where)
        if self.offset:
            value -= self.offset
            where = f"{where} - {self.offset}"
        spec_fields.check(value, rule, where)
        return value

    def _value(self, config: Config, name: str, values: Values) -> Any:
        value = look_up(config, name)
        if value is None:
            value = self.default(values) if callable(self.default) else self.default
        return value

    def misfit(self, values: Values) -> str | None:
        """Why our value cannot be said in their config, or None where it can."""
        value = values.get(self.ours)
        if self.words is None or value in self.words.values():
            return None
        return said(self.ours, value, tuple(dict.fromkeys(self.words.values())))

    def write(self, values: Values) -> dict[str, Any]:
        """Their fields by dotted name."""
        value: Any = values.get(self.ours)
        if not value and self.zero is not None:
            value = self.zero(values)
        if self.words is not None:
            value = next(theirs for theirs, ours in self.words.items() if ours == value)
        return dict.fromkeys(self.theirs, value + self.offset if self.offset else value)


def setting(ours: str, theirs: str, default: Any = None, **more: Any) -> Setting:
    """One of ours is one of theirs."""
    return Setting(ours, (theirs,), default, **more)


def dropouts(*theirs: str, default: float) -> Setting:
    """Our one dropout is theirs where all of theirs are equal. Where not, it is 0: dropout acts in training alone, so the
    model that was read is the same, and to train it on is to choose anew. Ours is written as all of theirs."""
    return Setting("dropout", theirs, default, unequal=0.0)


@dataclass(frozen=True)
class Demand:
    """A field of theirs that would change the mathematics, and the values of it that can be followed; the first is written.

    `older` marks a field that configs no longer have, and that is not written.
    """

    theirs: str
    allowed: tuple[Any, ...]
    older: bool = False

    def check(self, config: Config) -> None:
        value = look_up(config, self.theirs)
        if value is None or any(value == allowed and type(value) is type(allowed) for allowed in self.allowed):
            return
        follows = " or ".join("absent" if allowed is None else repr(allowed) for allowed in self.allowed)
        raise CannotImport(
            "unsupported-config",
            f"{self.theirs}={value!r} is not supported, because it changes what the model computes; it must be {follows}",
        )


# A checkpoint of numbers packed by some rule of quantisation is another file format.
PLAIN_NUMBERS = Demand("quantization_config", (None,), older=True)


def look_up(config: Config, name: str) -> Any:
    """A field by its dotted name; None where it, or a table that holds it, is missing."""
    found: Any = config
    for word in name.split("."):
        found = found.get(word) if isinstance(found, Mapping) else None
    return found


def put(config: dict[str, Any], name: str, value: Any) -> None:
    """Set a field by its dotted name."""
    *tables, last = name.split(".")
    for word in tables:
        config = config.setdefault(word, {})
    config[last] = value


def said(ours: str, value: Any, needed: Sequence[Any]) -> str:
    """Our field, its value and what was needed instead."""
    return f"model.{ours}={value!r} where it needs {' or '.join(repr(each) for each in needed)}"


def field_of(ours: str) -> SpecField:
    """One of our fields: of every spec, or declared by a part, a head or a kind of model."""
    if ours in ("context", "vocabulary"):
        return spec_fields.fields(DataSpec)[ours]
    table, _, name = f"model.{ours}".rpartition(".")
    base = spec_fields.fields(SECTIONS[table])
    return base[name] if name in base else declared.declarations(table)[name][0][1]


def values_of(model: ModelSpec, context: int, vocabulary: int) -> Values:
    """Every field of a model by its dotted name below `model`, those that its parts declare among them."""
    spec = declared.completed(Spec(model=model))
    found: Values = {"context": context, "vocabulary": vocabulary}
    for table in declared.OPEN_SECTIONS:
        prefix = table.removeprefix("model").removeprefix(".")
        for name in declared.fields_of(spec, table):
            found[f"{prefix}.{name}" if prefix else name] = declared.value_of(spec, f"{table}.{name}")
    return found


def with_values(model: ModelSpec, values: Mapping[str, Any]) -> ModelSpec:
    """The model with some of its fields changed. A setting that no part of it declares is left out."""
    base = {name: value for name, value in values.items() if name in spec_fields.fields(ModelSpec)}
    spec = Spec(model=replace(model, **base, head=replace(model.head, kind=values.get("head.kind", model.head.kind))))
    for table, prefix in (("model", ""), ("model.head", "head.")):
        own, names = declared.section(spec, table), declared.own_fields(spec, table)
        changed = {name: values[prefix + name] for name in names if prefix + name in values}
        kept = {name: value for name, value in own.own.items() if name in names}
        spec = declared.with_section(spec, table, replace(own, own={**kept, **changed}))
    return spec.model
