"""All supported Hugging Face architectures by name, and which of them a spec of ours can be exported to.

Another package adds an architecture by declaring an entry point in the group `glasshouse.architecture`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glasshouse import models
from glasshouse.interop.architectures import bart, bert, clip, distilbert, gpt2, llama
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import FieldValues, field_values, with_field_values
from glasshouse.models.part_factory import FIELDS
from glasshouse.specs import catalogue
from glasshouse.specs.errors import CannotExport
from glasshouse.specs.spec import ModelSpec

# An export takes the first architecture that fits.
ARCHITECTURES: tuple[Architecture, ...] = (
    gpt2.GPT2,
    llama.LLAMA,
    bert.BERT_FOR_MASKED_TOKENS,
    bert.BERT,
    bert.ROBERTA_FOR_MASKED_TOKENS,
    bert.ROBERTA,
    distilbert.DISTILBERT_FOR_CLASSES,
    distilbert.DISTILBERT_FOR_VALUES,
    bert.BERT_FOR_CLASSES,
    bert.BERT_FOR_TAGS,
    gpt2.GPT2_FOR_CLASSES,
    llama.LLAMA_FOR_CLASSES,
    bart.BART,
    clip.CLIP,
)


def all_architectures() -> tuple[Architecture, ...]:
    """The architectures of this package, then those of other packages."""
    return (*ARCHITECTURES, *(catalogue.find("architecture", name) for name in catalogue.names("architecture")))


def by_name() -> dict[str, Architecture]:
    """Every architecture that can be imported, under each of its names in config.json."""
    known = (architecture for architecture in all_architectures() if not architecture.export_only)
    return {name: architecture for architecture in known for name in architecture.names}


class NoFittingArchitecture(CannotExport):
    """No architecture can express a model. `changes` are the fields that would make it fit the nearest; empty if unknown."""

    def __init__(self, message: str, changes: FieldValues) -> None:
        super().__init__(message)
        self.changes = changes


def find_for_export(
    model: ModelSpec,
    context: int,
    vocabulary: int,
    origin: str = "",
    among: Sequence[Architecture] = (),
    to: str = "Hugging Face",
) -> tuple[Architecture, ModelSpec]:
    """The architecture to export a model as, and the spec with every field that the architecture switches on.

    `origin` is the architecture that the model was imported from; it takes precedence. `among`: the architectures of the
    format `to`, instead of those of Hugging Face.
    """
    model = with_field_values(canonical(model, context), {})
    values = field_values(model, context, vocabulary)
    rejected: list[tuple[tuple[bool, bool, int], Architecture, list[str], FieldValues]] = []
    # The sort is stable: apart from the origin, the architectures keep their order.
    for architecture in sorted(among or all_architectures(), key=lambda each: origin not in each.names):
        switched_on = {name: value for name, value in architecture.zero_filled_fields.items() if not values.get(name)}
        exported = with_field_values(model, switched_on)
        exported_values = field_values(exported, context, vocabulary)
        misfits = architecture.misfits(exported_values)
        reasons = [
            f"model.{name}={exported_values.get(name)!r} instead of {' or '.join(map(repr, allowed))}"
            for name, allowed in misfits.items()
        ]
        if architecture.round_trip_only and origin not in architecture.names:
            reasons.append(architecture.round_trip_only)
        if not reasons:
            return architecture, exported
        distance = ("kind" in misfits, "head.kind" in misfits, len(reasons))
        rejected.append((distance, architecture, reasons, exported_values))
    distance, nearest, reasons, values = min(rejected, key=lambda each: each[0])
    raise NoFittingArchitecture(
        f"no {to} architecture can express this model; the nearest is {nearest.name!r}, which does not fit: "
        f"{'; '.join(reasons)}",
        {} if any(distance[:2]) else nearest.changes(values),
    )


def canonical(model: ModelSpec, context: int) -> ModelSpec:
    """The canonical spec of a model: equal models get equal specs. A 0 that means "choose" becomes the chosen number.

    The chosen numbers are read from a model built on the meta device, so the parts alone hold the rules for them. A head
    width that equals width / heads stays 0. A part that computes the same as another part from the same weights
    (`exports_as`) becomes that other part.
    """
    with models.WithoutWeights():
        built: Any = models.assemble(models.one_block(model), 2, context)
    own = dict(model.own)
    if model.kind == "encoder-decoder":
        own["encoder_layers"] = own.get("encoder_layers") or model.layers
        built = built.decoder
    elif model.kind == "dual-encoder":
        block = built.image.blocks[0]
        own |= {
            "image_width": block.attention.width,
            "image_heads": block.attention.heads,
            "image_layers": own.get("image_layers") or model.layers,
            "image_feed_forward": _inner_size(block),
        }
        width = built.head.text.out_features
        model = replace(model, head=replace(model.head, own={**model.head.own, "width": width}))
        built = built.text
    elif model.kind not in ("decoder", "encoder"):
        return model
    if built.blocks:
        model = replace(model, feed_forward=_inner_size(built.blocks[0]))
    if model.head_width * model.heads == model.width and model.kind != "dual-encoder":
        model = replace(model, head_width=0)
    parts = {field: catalogue.find(family, getattr(model, field)) for family, field in FIELDS.items()}
    synonyms: dict[str, Any] = {field: part.exports_as for field, part in parts.items() if hasattr(part, "exports_as")}
    model = replace(model, **synonyms)
    if model.attention == "grouped-query":
        own["key_value_heads"] = built.blocks[0].attention.key_value_heads
        if own["key_value_heads"] == model.heads:
            own.pop("key_value_heads")
            model = replace(model, attention="dot-product")
    return replace(model, own=own)


def _inner_size(block: Any) -> int:
    """The inner size of a block's feed-forward part; 0 if the part has no inner layer."""
    up = getattr(block.feed_forward, "up", None)
    return up.out_features if up is not None else 0
