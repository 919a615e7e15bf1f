"""What an architecture is: tables of settings and weights that read and write alike. Knows no file format.

A table names only what differs from a spec's defaults: `settings` are the fields that a config gives, `fixed` those that
have one value in such a model. Every other field, whichever part declares it, must have its default.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch

from glasshouse.interop.architectures.config_fields import Config, Demand, Setting, Values, field_of, look_up, put, said
from glasshouse.interop.weight_tables import Tensors, WeightRow
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec

# Token ids that a config names, each as `NAME_token_id`.
TOKENS = ("bos", "eos", "pad", "decoder_start", "forced_bos", "forced_eos")

# Fields of ours that are about training, and change nothing in a trained model.
TRAINING_ONLY = frozenset({"initialisation", "dropout"})


@dataclass(frozen=True)
class Same:
    """Names of theirs for one tensor; the first is the one that rows speak of.

    A file may have any of them, and those it has must be equal. A name in `spare` is asked only where the file has none of
    the others. All are written where `written` says so; otherwise the first alone.
    """

    names: tuple[str, ...]
    why: str
    spare: tuple[str, ...] = ()
    written: bool = False


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    names: what `architectures` in a config says; the first is written.
    settings, demands: fields of their config that we follow, and fields of which we follow only some values.
    fixed: fields of ours, and the values that such a model can have; the first is what reading gives.
    zeros: values of our fields that switch on weights which, at zero, do nothing: how a model without them is written.
    unused: fields of ours that do nothing in such a model, so that any value fits.
    weights: the rows of a model of ours.
    same, ignored: names for one tensor; patterns of names that hold nothing of the model.
    optional: tensors of theirs that a file may lack, and the field of ours that is then off.
    prefix: what begins the names of the inner model in a file of the whole, and is missing where it was saved alone.
    renamed: ends of names in older files, and what they are now.
    modern: a config in the spelling of today.
    tokens: where token ids stand in a config.
    returning: written only from runs that were read from it, for the reason that this gives.
    """

    names: tuple[str, ...]
    model_type: str
    settings: tuple[Setting, ...]
    fixed: Mapping[str, tuple[Any, ...]]
    weights: Callable[[ModelSpec], list[WeightRow]]
    unused: frozenset[str] = frozenset()
    demands: tuple[Demand, ...] = ()
    zeros: Mapping[str, Any] = field(default_factory=dict)
    same: Callable[[ModelSpec], tuple[Same, ...]] = lambda model: ()
    ignored: tuple[str, ...] = ()
    optional: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    modern: Callable[[Config], Config] = lambda config: config
    tokens: str = ""
    returning: str = ""

    @property
    def name(self) -> str:
        return self.names[0]

    def read_config(self, config: Config) -> Values:
        """Our fields from their config; a field that we cannot follow is refused."""
        config = self.modern(config)
        for demand in self.demands:
            demand.check(config)
        values: Values = {name: allowed[0] for name, allowed in self.fixed.items()}
        for each in self.settings:
            values[each.ours] = each.read(config, values)
        return values

    def read_tokens(self, config: Config) -> dict[str, Any]:
        """The token ids that a config names."""
        config = self.modern(config)
        found = {role: look_up(config, f"{self.tokens}{role}_token_id") for role in TOKENS}
        return {role: value for role, value in found.items() if value is not None}

    def misfits(self, values: Values) -> list[str]:
        """What of our fields such a model cannot have. Of another kind of model it has nothing else to say."""
        if values["kind"] not in self.fixed["kind"]:
            return [said("kind", values["kind"], self.fixed["kind"])]
        given = {"kind", *(each.ours for each in self.settings)} | self.unused | TRAINING_ONLY
        allowed = {name: self.fixed.get(name, (field_of(name).default,)) for name in values if name not in given}
        found = [said(name, values[name], fitting) for name, fitting in allowed.items() if values[name] not in fitting]
        found += [reason for each in self.settings if (reason := each.misfit(values))]
        for side in ("", "image_"):
            width, heads = values.get(f"{side}width", 0), values.get(f"{side}heads", 1)
            if width % heads:
                found.append(f"model.{side}heads={heads} where it needs a divisor of model.{side}width={width}")
        return found

    def write_config(self, values: Values, tokens: Mapping[str, Any]) -> dict[str, Any]:
        """Their config. Token ids that are not known are written as none: theirs by default may not be in a vocabulary."""
        config: dict[str, Any] = {"architectures": [self.name], "model_type": self.model_type, "dtype": "float32"}
        for role in TOKENS:
            put(config, f"{self.tokens}{role}_token_id", tokens.get(role))
        for demand in self.demands:
            if not demand.older:
                put(config, demand.theirs, demand.allowed[0])
        for each in self.settings:
            for name, value in each.write(values).items():
                put(config, name, value)
        return config

    def named(self, theirs: Tensors, model: ModelSpec, where: str) -> Tensors:
        """Their tensors under the names that the rows speak of, without what holds nothing of the model."""
        same = self.same(model)
        known = {part.name for row in self.weights(model) for part in row.parts}
        known |= {name for each in same for name in each.names + each.spare}
        found: Tensors = {}
        for name, tensor in theirs.items():
            if any(fnmatchcase(name, pattern) for pattern in self.ignored):
                continue
            for old, new in self.renamed.items():
                name = name.removesuffix(old) + new if name.endswith(old) else name
            spellings = (name, self.prefix + name, name.removeprefix(self.prefix))
            found[next((spelling for spelling in spellings if spelling in known), name)] = tensor
        for each in same:
            _unite(found, each, where)
        return found

    def copied(self, theirs: Tensors, model: ModelSpec) -> Tensors:
        """Their tensors with a copy under every other name that is written."""
        copies = {
            name: theirs[each.names[0]].clone()
            for each in self.same(model)
            if each.written
            for name in each.names[1:] + each.spare
        }
        return {**theirs, **copies}


def _unite(theirs: Tensors, same: Same, where: str) -> None:
    """Keep one tensor of those that have several names, under the first of them."""
    present = [name for name in same.names if name in theirs] or [name for name in same.spare if name in theirs][:1]
    if not present:
        return
    kept = theirs[present[0]]
    for name in present[1:]:
        if not torch.equal(theirs[name], kept):
            raise CannotImport("tensors-differ", f"{where}: {present[0]!r} and {name!r} differ, and {same.why}")
    for name in same.names + same.spare:
        theirs.pop(name, None)
    theirs[same.names[0]] = kept


def tied(copy: str, original: str) -> Same:
    """A tensor of the output that is another's copy, such as the token embedding's."""
    return Same(
        (original, copy), "tie_word_embeddings says that they are one; set it to false in config.json if they are two"
    )
