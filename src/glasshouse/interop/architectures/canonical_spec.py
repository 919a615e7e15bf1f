"""Specs settled: every 0 that leaves a choice to the parts made the number they chose, said in the plainest way."""

from dataclasses import replace
from typing import Any

import torch

from glasshouse import models
from glasshouse.specs.spec import ModelSpec


def settled(model: ModelSpec, context: int) -> ModelSpec:
    """The same model; two specs of one model become equal.

    The numbers are read off the model itself, so that the rules for them stand with the parts alone. A head's width that
    follows from the width stays 0, and attention whose groups have one head each is called by its plain name.
    """
    with torch.device("meta"):
        built: Any = models.assemble(replace(model, layers=1, encoder_layers=min(model.encoder_layers, 1)), 2, context)
    if model.kind == "encoder-decoder":
        model = replace(model, encoder_layers=model.encoder_layers or model.layers)
        built = built.decoder
    elif model.kind == "dual-encoder":
        block = built.image.blocks[0]
        image = replace(
            model.image,
            width=block.attention.width,
            heads=block.attention.heads,
            layers=model.image.layers or model.layers,
            feed_forward=block.feed_forward.up.out_features,
        )
        model = replace(model, image=image, head=replace(model.head, width=built.head.text.out_features))
        built = built.text
    elif model.kind not in ("decoder", "encoder"):
        return model
    model = replace(model, feed_forward=built.blocks[0].feed_forward.up.out_features)
    if model.head_width * model.heads == model.width and model.kind != "dual-encoder":
        model = replace(model, head_width=0)
    if model.attention == "grouped-query":
        groups = built.blocks[0].attention.key_value_heads
        if groups == model.heads:
            return replace(model, attention="dot-product", key_value_heads=0)
        return replace(model, key_value_heads=groups)
    return replace(model, key_value_heads=0)
