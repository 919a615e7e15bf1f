"""DistilBERT with a classifier: a BERT without segments (Sanh et al., DistilBERT, 2019).

Its head is one hidden layer with ReLU, as wide as the model, on the vector of the first token. This is our classifier head
with `pooling=first` and `hidden` equal to the width. The epsilon of its norms is fixed. With one class it is a regressor,
whose numbers an export writes in the unit of the data.
"""

from collections.abc import Mapping
from typing import Any

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import (
    ACTIVATIONS,
    NOT_QUANTISED,
    Config,
    ConfigConstraint,
    config_field,
    dropout_field,
)
from glasshouse.interop.architectures.layer_mappings import attention_layer, weight_and_bias
from glasshouse.interop.weight_mapping import Transform, WeightMapping, for_each_layer, one_to_one
from glasshouse.specs.spec import ModelSpec


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [*_encoder_mappings(model), *weight_and_bias("head.hidden", "pre_classifier"), *_answer(model)]


def _answer(model: ModelSpec) -> list[WeightMapping]:
    """The last layer. That of a regressor, whose numbers are standardised, becomes one in the unit of the data."""
    if model.head.kind != "regressor":
        return weight_and_bias("head.answer", "classifier")
    mean, deviation = model.head.own.get("mean", 0.0), model.head.own.get("deviation", 0.0) or 1.0
    weight = Transform(lambda tensor: tensor / deviation, lambda tensor: tensor * deviation)
    bias = Transform(lambda tensor: (tensor - mean) / deviation, lambda tensor: tensor * deviation + mean)
    return [
        one_to_one("head.answer.weight", "classifier.weight", weight),
        one_to_one("head.answer.bias", "classifier.bias", bias),
    ]


def _encoder_mappings(model: ModelSpec) -> list[WeightMapping]:
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
    "head.pooling": ("first",),
}
CONFIG_FIELDS = (
    config_field("vocabulary", "vocab_size", 30522),
    config_field("context", "max_position_embeddings", 512),
    config_field("width", "dim", 768),
    config_field("head.hidden", "dim", 768),
    config_field("layers", "n_layers", 6),
    config_field("heads", "n_heads", 12),
    config_field("feed_forward", "hidden_dim", 3072),
    config_field("activation", "activation", "gelu", value_names=ACTIVATIONS),
    dropout_field("dropout", "attention_dropout", default=0.1),
)

DISTILBERT_FOR_CLASSES = Architecture(
    names=("DistilBertForSequenceClassification",),
    model_type="distilbert",
    config_fields=(*CONFIG_FIELDS, config_field("head.classes", "num_labels", 2)),
    config_constraints=(NOT_QUANTISED,),
    fixed_fields={**FIXED_FIELDS, "head.kind": ("classifier",)},
    zero_filled_fields={"bias": True},
    # A classifier has no output matrix to tie.
    unused_fields=frozenset({"tied"}),
    weight_mappings=weight_mappings,
    ignored_tensors=("*position_ids",),
    base_model_prefix="distilbert.",
    upgrade_config=with_class_count,
)

DISTILBERT_FOR_VALUES = Architecture(
    names=("DistilBertForSequenceClassification",),
    model_type="distilbert",
    config_fields=CONFIG_FIELDS,
    config_constraints=(
        NOT_QUANTISED,
        ConfigConstraint("num_labels", (1,)),
        ConfigConstraint("problem_type", ("regression",)),
    ),
    fixed_fields={**FIXED_FIELDS, "head.kind": ("regressor",)},
    zero_filled_fields={"bias": True},
    # The mean and the deviation are in the weights.
    unused_fields=frozenset({"tied", "head.mean", "head.deviation"}),
    weight_mappings=weight_mappings,
    base_model_prefix="distilbert.",
    export_only=True,
)
