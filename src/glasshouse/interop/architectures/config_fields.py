"""Config tables: which key of a Hugging Face config.json holds which field of our spec. Knows no architecture, no weights.

Spec fields have dotted names below `model` (`width`, `head.bias`). `context` and `vocabulary` count as fields too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from glasshouse.specs import declared, spec_fields
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import SECTIONS, DataSpec, ModelSpec, Spec
from glasshouse.specs.spec_fields import SpecField

Config = Mapping[str, Any]
FieldValues = dict[str, Any]

# Activation names of config.json, and ours. An export writes the first name of a function that has several.
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
class ConfigField:
    """One field of our spec and the keys of config.json that hold its value.

    config_keys: a dotted key, or several that must hold the same value; an export writes all of them.
    default: the value if the key is missing, or a function that computes it from the other spec fields, also for an export
        of a 0, which means that in our spec. Without a default the key must be there.
    value_names: for a field with named values: their name of each value, and ours.
    offset: how much larger their number is than ours.
    value_if_unequal: our value if several keys disagree; None makes that an error. Dropout acts in training alone, so that
        outputs are the same with 0.
    """

    spec_field: str
    config_keys: str | tuple[str, ...]
    default: Any = None
    value_names: Mapping[str, str] | None = None
    offset: int = 0
    value_if_unequal: Any = None

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.config_keys,) if isinstance(self.config_keys, str) else self.config_keys

    def read(self, config: Config, values: FieldValues) -> Any:
        """The value for our spec, checked by the rule of its field. `values` are the fields read before."""
        candidates = [self._config_value(config, key, values) for key in self.keys]
        if any(value != candidates[0] for value in candidates):
            if self.value_if_unequal is not None:
                return self.value_if_unequal
            settings = " and ".join(f"{key}={value!r}" for key, value in zip(self.keys, candidates, strict=True))
            raise CannotImport(f"{settings} differ, but are one field, model.{self.spec_field}; import another model")
        key, value = self.keys[0], candidates[0]
        if self.value_names is not None:
            if not isinstance(value, str) or value not in self.value_names:
                raise CannotImport(f"{key}={value!r} is not supported; supported: {', '.join(self.value_names)}")
            return self.value_names[value]
        kind, rule, _ = field_definition(self.spec_field)
        value = spec_fields.coerce(kind, value, key)
        if self.offset:
            value -= self.offset
            key = f"{key} - {self.offset}"
        spec_fields.check(value, rule, key)
        return value

    def _config_value(self, config: Config, key: str, values: FieldValues) -> Any:
        value = get_key(config, key)
        if value is None:
            value = self.default(values) if callable(self.default) else self.default
        if value is None:
            raise CannotImport(
                f"the key {key!r} is missing, which is needed to build the model; download or export it again"
            )
        return value

    def write(self, values: FieldValues) -> dict[str, Any]:
        """Every config key of this field with its value."""
        value: Any = values.get(self.spec_field)
        if not value and callable(self.default):
            value = self.default(values)
        if self.value_names is not None:
            value = next(theirs for theirs, ours in self.value_names.items() if ours == value)
        return dict.fromkeys(self.keys, value + self.offset if self.offset else value)


def check_value(config: Config, key: str, allowed: tuple[Any, ...]) -> None:
    """Refuse a value of a key that changes what the model computes. A key may be missing."""
    value = get_key(config, key)
    if value is not None and not any(value == each and type(value) is type(each) for each in allowed):
        supported = " or ".join("absent" if each is None else repr(each) for each in allowed)
        raise CannotImport(
            f"{key}={value!r} is not supported, because it changes what the model computes; it must be {supported}"
        )


def get_key(config: Config, name: str) -> Any:
    """The value of a dotted key; None if it, or a table that holds it, is missing. GGUF keys are not split into tables."""
    if name in config:
        return config[name]
    value: Any = config
    for word in name.split("."):
        value = value.get(word) if isinstance(value, Mapping) else None
    return value


def set_key(config: dict[str, Any], name: str, value: Any) -> None:
    """Set a dotted key; missing tables are created."""
    *tables, last = name.split(".")
    for table in tables:
        config = config.setdefault(table, {})
    config[last] = value


def field_definition(name: str) -> SpecField:
    """Type, rule and default of a spec field; the field may be declared by a part, a head or a kind of model."""
    if name in ("context", "vocabulary"):
        return spec_fields.fields(DataSpec)[name]
    table, _, field = f"model.{name}".rpartition(".")
    base = spec_fields.fields(SECTIONS[table])
    return base[field] if field in base else declared.declarations(table)[field][0][1]


def field_values(model: ModelSpec, context: int, vocabulary: int) -> FieldValues:
    """Every field of a model by its dotted name below `model`, including the settings that its parts declare."""
    spec = declared.completed(Spec(model=model))
    values: FieldValues = {"context": context, "vocabulary": vocabulary}
    for table in declared.MODEL_SECTIONS:
        prefix = table.removeprefix("model").removeprefix(".")
        for name in declared.fields_of(spec, table):
            values[f"{prefix}.{name}" if prefix else name] = declared.value_of(spec, f"{table}.{name}")
    return values


def with_field_values(model: ModelSpec, values: Mapping[str, Any]) -> ModelSpec:
    """The model with some of its fields changed. A setting that none of its parts declares is dropped."""
    base = {name: value for name, value in values.items() if name in spec_fields.fields(ModelSpec)}
    spec = Spec(model=replace(model, **base, head=replace(model.head, kind=values.get("head.kind", model.head.kind))))
    for table, prefix in (("model", ""), ("model.head", "head.")):
        section, names = declared.section(spec, table), declared.own_fields(spec, table)
        changed = {name: values[prefix + name] for name in names if prefix + name in values}
        kept = {name: value for name, value in section.own.items() if name in names}
        spec = declared.with_section(spec, table, replace(section, own={**kept, **changed}))
    return spec.model
