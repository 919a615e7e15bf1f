"""DistilBERT with a classifier: a BERT without segments (Sanh et al., DistilBERT, 2019).

Its head is one hidden layer with ReLU, as wide as the model, on the vector of the first token. This is our classifier head
with `pooling=first` and `hidden` equal to the width. The epsilon of its norms is fixed.
"""

from collections.abc import Mapping
from typing import Any

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import (
    ACTIVATIONS,
    NOT_QUANTISED,
    Config,
    config_field,
    dropout_field,
)
from glasshouse.interop.architectures.layer_mappings import attention_layer, weight_and_bias
from glasshouse.interop.weight_mapping import WeightMapping, for_each_layer, one_to_one
from glasshouse.specs.spec import ModelSpec


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    ours, theirs, embeddings = "blocks.{}", "distilbert.transformer.layer.{}", "distilbert.embeddings"
    projections = (f"{theirs}.attention.q_lin", f"{theirs}.attention.k_lin", f"{theirs}.attention.v_lin")
    return [
        one_to_one("embedding.weight", f"{embeddings}.word_embeddings.weight"),
        one_to_one("position.table.weight", f"{embeddings}.position_embeddings.weight"),
        *weight_and_bias("embedding_norm", f"{embeddings}.LayerNorm"),
        *for_each_layer(
            model.layers,
            [
                *attention_layer(f"{ours}.attention", projections, f"{theirs}.attention.out_lin", model.width),
                *weight_and_bias(f"{ours}.attention_connection.norm", f"{theirs}.sa_layer_norm"),
                *weight_and_bias(f"{ours}.feed_forward.up", f"{theirs}.ffn.lin1"),
                *weight_and_bias(f"{ours}.feed_forward.down", f"{theirs}.ffn.lin2"),
                *weight_and_bias(f"{ours}.feed_forward_connection.norm", f"{theirs}.output_layer_norm"),
            ],
        ),
        *weight_and_bias("head.hidden", "pre_classifier"),
        *weight_and_bias("head.answer", "classifier"),
    ]


def with_class_count(config: Config) -> Config:
    """The number of classes is that of their names, if the config has names."""
    names = config.get("id2label")
    return {**config, "num_labels": len(names)} if isinstance(names, Mapping) else config


FIXED_FIELDS: Mapping[str, tuple[Any, ...]] = {
    "kind": ("encoder",),
    "position": ("learned",),
    "connection": ("post-norm",),
    "embedding_norm": (True,),
    "bias": (True,),
    "epsilon": (1e-12,),
    "head.kind": ("classifier",),
    "head.pooling": ("first",),
}

DISTILBERT_FOR_CLASSES = Architecture(
    names=("DistilBertForSequenceClassification",),
    model_type="distilbert",
    config_fields=(
        config_field("vocabulary", "vocab_size", 30522),
        config_field("context", "max_position_embeddings", 512),
        config_field("width", "dim", 768),
        config_field("head.hidden", "dim", 768),
        config_field("layers", "n_layers", 6),
        config_field("heads", "n_heads", 12),
        config_field("feed_forward", "hidden_dim", 3072),
        config_field("activation", "activation", "gelu", value_names=ACTIVATIONS),
        config_field("head.classes", "num_labels", 2),
        dropout_field("dropout", "attention_dropout", default=0.1),
    ),
    config_constraints=(NOT_QUANTISED,),
    fixed_fields=FIXED_FIELDS,
    zero_filled_fields={"bias": True},
    # A classifier has no output matrix to tie.
    unused_fields=frozenset({"tied"}),
    weight_mappings=weight_mappings,
    ignored_tensors=("*position_ids",),
    base_model_prefix="distilbert.",
    upgrade_config=with_class_count,
)
