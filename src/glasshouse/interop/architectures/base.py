"""The description of a Hugging Face architecture: tables that read and write its config and its tensors. Knows no file.

A table lists only what differs from the defaults of our spec. `config_fields` lists the spec fields that config.json
determines, and `fixed_fields` those that the architecture fixes. Every other spec field must have its default.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import torch

from glasshouse.interop import weight_mapping
from glasshouse.interop.architectures.config_fields import (
    Config,
    ConfigField,
    FieldValues,
    check_value,
    field_definition,
    get_key,
    set_key,
)
from glasshouse.interop.weight_mapping import Entry, Names, Tensors
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec

# The roles of special tokens; config.json stores each id as `ROLE_token_id`.
TOKEN_ROLES = ("bos", "eos", "pad", "decoder_start", "forced_bos", "forced_eos")

# Spec fields that matter in training alone: any value can be exported.
TRAINING_ONLY = frozenset({"initialisation", "embedding_deviation", "dropout", "zero_branches"})


# A checkpoint with this key stores its weights in another format.
NOT_QUANTISED = {"quantization_config": (None,)}
# A decoder with a classifier: a linear layer without a bias on the vector of the last token. `transformers` finds that token
# of a padded text by the id of the padding, `pad_token_id`.
LAST_TOKEN_CLASSES = {"head.kind": ("classifier",), "head.pooling": ("last",), "head.answer_bias": (False,)}


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    names: values of `architectures` in config.json; an export writes the first.
    config_fields: spec fields whose values config.json holds.
    config_values: config keys of which only these values are supported; an export writes the first.
    legacy_config_values: the same for keys of older configs, which are not written.
    fixed_fields: spec fields and the values that the architecture supports; an import sets the first.
    zero_filled_fields: values of spec fields that add weights to a model. An export fills the added weights with zeros, so
        the model computes the same function. This is how a model without biases is written to a format that has them.
    unused_fields: spec fields without effect in this architecture: any value can be exported.
    weights: their names of our modules. tied_weights: those that differ if the output is tied to the embedding.
    tied_tensors: further names of tensors if the output is tied, each with the name in `weights`. A file may contain any of
        them, and they must be equal. untied_tensors: the same without a tied output; an export writes them too.
    fallback_tensors: like `untied_tensors`, but read only if the file lacks the tensor.
    ignored_tensors: patterns for names of tensors that are not weights of the model.
    optional_tensors: tensors that a file may lack, each with the spec field that is then switched off.
    base_model_prefix: the prefix of tensor names that is missing if the base model was saved without its head.
    legacy_suffixes: endings of tensor names in old files, and the current endings.
    upgrade_config: converts an old config.json to the current keys.
    token_id_prefix: the table of config.json that holds the ids of special tokens, with a dot.
    round_trip_only: if set, only runs that were imported from this architecture are exported to it, for this reason.
    constant_tensors: tensors of theirs that no tensor of ours determines; an export writes them.
    export_only: whether it cannot be imported.
    """

    names: tuple[str, ...]
    model_type: str
    config_fields: tuple[ConfigField, ...]
    fixed_fields: Mapping[str, tuple[Any, ...]]
    weights: Names
    tied_weights: Names = field(default_factory=dict)
    unused_fields: frozenset[str] = frozenset()
    config_values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    legacy_config_values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    zero_filled_fields: Mapping[str, Any] = field(default_factory=dict)
    tied_tensors: Mapping[str, str] = field(default_factory=dict)
    untied_tensors: Mapping[str, str] = field(default_factory=dict)
    fallback_tensors: Mapping[str, str] = field(default_factory=dict)
    ignored_tensors: tuple[str, ...] = ()
    optional_tensors: Mapping[str, str] = field(default_factory=dict)
    base_model_prefix: str = ""
    legacy_suffixes: Mapping[str, str] = field(default_factory=dict)
    upgrade_config: Callable[[Config], Config] = lambda config: config
    token_id_prefix: str = ""
    round_trip_only: str = ""
    constant_tensors: Callable[[ModelSpec], Tensors] = lambda model: {}
    export_only: bool = False

    @property
    def name(self) -> str:
        return self.names[0]

    def read_config(self, config: Config) -> FieldValues:
        """Spec fields from config.json. A value that Glasshouse does not support is an error."""
        config = self.upgrade_config(config)
        if isinstance(classes := config.get("id2label"), Mapping):
            config = {**config, "num_labels": len(classes)}
        for key, allowed in {**self.config_values, **self.legacy_config_values, **NOT_QUANTISED}.items():
            check_value(config, key, allowed)
        values: FieldValues = {name: allowed[0] for name, allowed in self.fixed_fields.items()}
        for config_field in self.config_fields:
            values[config_field.spec_field] = config_field.read(config, values)
        return values

    def read_token_ids(self, config: Config) -> dict[str, Any]:
        config = self.upgrade_config(config)
        ids = {role: get_key(config, f"{self.token_id_prefix}{role}_token_id") for role in TOKEN_ROLES}
        return {role: value for role, value in ids.items() if value is not None}

    def misfits(self, values: FieldValues) -> dict[str, tuple[Any, ...]]:
        """The spec fields of a model that this architecture cannot express, each with the supported values.

        For another kind of model the kind is the only one.
        """
        if values["kind"] not in self.fixed_fields["kind"]:
            return {"kind": self.fixed_fields["kind"]}
        free = self.unused_fields | TRAINING_ONLY | {each.spec_field for each in self.config_fields}
        supported = {
            name: self.fixed_fields.get(name, (field_definition(name).default,)) for name in values if name not in free
        }
        first: dict[str, str] = {}
        for each in self.config_fields:
            if each.value_names is not None:
                supported[each.spec_field] = tuple(dict.fromkeys(each.value_names.values()))
            elif (other := first.setdefault(each.keys[0], each.spec_field)) != each.spec_field:
                supported[each.spec_field] = (values.get(other),)  # one key of config.json holds both
        if values["width"] % values.get("heads", 1):
            supported["heads"] = tuple(number for number in range(1, values["width"] + 1) if values["width"] % number == 0)
        return {name: allowed for name, allowed in supported.items() if values.get(name) not in allowed}

    def changes(self, values: FieldValues) -> FieldValues:
        """The fields to change, and their new values, so that a model has this architecture; empty if that is not enough."""
        changed = {name: allowed[0] for name, allowed in self.misfits(values).items() if name in values}
        return {} if self.round_trip_only or self.misfits({**values, **changed}) else changed

    def write_config(self, values: FieldValues, token_ids: Mapping[str, Any]) -> dict[str, Any]:
        """The contents of config.json.

        An unknown token id is written as null, because the default of `transformers` may not be in the vocabulary.
        """
        config: dict[str, Any] = {"architectures": [self.name], "model_type": self.model_type, "dtype": "float32"}
        for role in TOKEN_ROLES:
            set_key(config, f"{self.token_id_prefix}{role}_token_id", token_ids.get(role))
        for key, allowed in self.config_values.items():
            set_key(config, key, allowed[0])
        for config_field in self.config_fields:
            for name, value in config_field.write(values).items():
                set_key(config, name, value)
        return config

    def import_tensors(self, theirs: Tensors, model: ModelSpec, shapes: Mapping[str, Sequence[int]], where: str) -> Tensors:
        """Our state dict, which has these shapes, from theirs."""
        names = self._names(model)
        known = {piece.name for pieces in weight_mapping.pieces(names, shapes).values() for piece in pieces}
        copies, fallbacks = (self.tied_tensors, {}) if model.tied else (self.untied_tensors, self.fallback_tensors)
        known |= {*copies, *fallbacks}
        normalised: Tensors = {}
        for name, tensor in theirs.items():
            if any(fnmatchcase(name, pattern) for pattern in self.ignored_tensors):
                continue
            for old, new in self.legacy_suffixes.items():
                name = name.removesuffix(old) + new if name.endswith(old) else name
            spellings = (name, self.base_model_prefix + name, name.removeprefix(self.base_model_prefix))
            normalised[next((spelling for spelling in spellings if spelling in known), name)] = tensor
        for other, name in copies.items():
            copy = normalised.pop(other, None)
            if copy is not None and not torch.equal(normalised.setdefault(name, copy), copy):
                raise CannotImport(f"{where}: {name!r} and {other!r} differ; if meant so, set tie_word_embeddings to false")
        for other, name in fallbacks.items():
            if other in normalised:
                normalised.setdefault(name, normalised.pop(other))
        return weight_mapping.import_tensors(names, model, normalised, shapes, where)

    def export_tensors(self, ours: Tensors, model: ModelSpec, shapes: Mapping[str, Sequence[int]]) -> Tensors:
        """Their state dict from ours. A weight that only their model has, with these shapes, is zero and changes nothing."""
        whole = {name: ours[name] if name in ours else torch.zeros(shape) for name, shape in shapes.items()}
        theirs = weight_mapping.export_tensors(self._names(model), model, whole)
        copies = {} if model.tied else {**self.untied_tensors, **self.fallback_tensors}
        return {**theirs, **{other: theirs[name].clone() for other, name in copies.items()}, **self.constant_tensors(model)}

    def _names(self, model: ModelSpec) -> dict[str, Entry]:
        return {**self.weights, **(self.tied_weights if model.tied else {})}


def with_labels(
    table: Architecture,
    name: str,
    answer: Entry = "score",
    labels: str = "head.classes",
    head: Mapping[str, tuple[Any, ...]] = LAST_TOKEN_CLASSES,
) -> Architecture:
    """An architecture with another head, which gives labels and has no output matrix to tie. `answer` is its last layer."""
    return replace(
        table,
        names=(name,),
        config_fields=(
            *(each for each in table.config_fields if each.spec_field != "tied"),
            ConfigField(labels, "num_labels", 2),
        ),
        fixed_fields={**{name: value for name, value in table.fixed_fields.items() if name != "head.kind"}, **head},
        unused_fields=frozenset({"tied"}),
        weights={**{name: entry for name, entry in table.weights.items() if name != "head"}, "head.answer": answer},
        tied_tensors={},
    )
