"""Canonical specs: equal models get equal specs. A 0 that means "choose" becomes the chosen number; synonyms become one."""

from dataclasses import replace
from typing import Any

from glasshouse import models
from glasshouse.models.part_factory import FIELDS
from glasshouse.specs import catalogue
from glasshouse.specs.spec import ModelSpec


def canonical(model: ModelSpec, context: int) -> ModelSpec:
    """The canonical spec of a model.

    The chosen numbers are read from a model built on the meta device, so the parts alone hold the rules for them. A head
    width that equals width / heads stays 0. A part that computes the same as another part from the same weights
    (`exports_as`) becomes that other part.
    """
    with models.without_weights():
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
