"""BERT: an encoder trained to predict masked tokens (Devlin et al., BERT, 2019), with and without its masked-token head."""

from collections.abc import Mapping
from typing import Any

from glasshouse.interop.architectures.base import Architecture, SharedTensor, tied_tensor
from glasshouse.interop.architectures.config_fields import (
    ACTIVATIONS,
    NOT_QUANTISED,
    ConfigConstraint,
    ConfigField,
    config_field,
    dropout_field,
)
from glasshouse.interop.architectures.layer_mappings import attention_layer, weight_and_bias
from glasshouse.interop.weight_mapping import IDENTITY, Transform, WeightMapping, for_each_layer, one_to_one
from glasshouse.specs.spec import ModelSpec

# The head has two biases, `decoder.bias` and `bias`. They are one tensor if the output matrix is tied to the embedding;
# otherwise only `decoder.bias` is used.
HEAD = "cls.predictions"


def encoder_mappings(model: ModelSpec, prefix: str, positions: Transform = IDENTITY) -> list[WeightMapping]:
    """The mappings of an encoder without a head, for BERT and RoBERTa. `positions` transforms the position table."""
    ours, theirs = "blocks.{}", f"{prefix}encoder.layer.{{}}"
    attention, embeddings = f"{theirs}.attention", f"{prefix}embeddings"
    projections = (f"{attention}.self.query", f"{attention}.self.key", f"{attention}.self.value")
    segments = [one_to_one("segments.weight", f"{embeddings}.token_type_embeddings.weight")]
    return [
        one_to_one("embedding.weight", f"{embeddings}.word_embeddings.weight"),
        one_to_one("position.table.weight", f"{embeddings}.position_embeddings.weight", positions),
        *(segments if model.own.get("segments") else []),
        *weight_and_bias("embedding_norm", f"{embeddings}.LayerNorm"),
        *for_each_layer(
            model.layers,
            [
                *attention_layer(f"{ours}.attention", projections, f"{attention}.output.dense", model.width),
                *weight_and_bias(f"{ours}.attention_connection.norm", f"{attention}.output.LayerNorm"),
                *weight_and_bias(f"{ours}.feed_forward.up", f"{theirs}.intermediate.dense"),
                *weight_and_bias(f"{ours}.feed_forward.down", f"{theirs}.output.dense"),
                *weight_and_bias(f"{ours}.feed_forward_connection.norm", f"{theirs}.output.LayerNorm"),
            ],
        ),
    ]


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    """A model without a head has names without the prefix."""
    if model.head.kind == "pooled":
        return encoder_mappings(model, "")
    return [
        *encoder_mappings(model, "bert."),
        *weight_and_bias("head.transform", f"{HEAD}.transform.dense"),
        *weight_and_bias("head.norm", f"{HEAD}.transform.LayerNorm"),
        one_to_one("head.bias", f"{HEAD}.bias" if model.tied else f"{HEAD}.decoder.bias"),
        *([] if model.tied else [one_to_one("head.weight", f"{HEAD}.decoder.weight")]),
    ]


def shared_tensors(model: ModelSpec) -> tuple[SharedTensor, ...]:
    return shared_head_tensors(model, f"{HEAD}.decoder", f"{HEAD}.bias", "bert.embeddings.word_embeddings.weight")


def shared_head_tensors(model: ModelSpec, decoder: str, bias: str, embedding: str) -> tuple[SharedTensor, ...]:
    """The names of the head's output matrix and bias, tied or not."""
    if model.tied:
        return (tied_tensor(f"{decoder}.bias", bias), tied_tensor(f"{decoder}.weight", embedding))
    return (SharedTensor((f"{decoder}.bias",), "", fallback_names=(bias,), write_all=True),)


def encoder_config(
    activations: Mapping[str, str], vocabulary: int = 30522, position_offset: int = 0
) -> tuple[ConfigField, ...]:
    """The config fields of an encoder. `position_offset` counts the first rows of its position table that are not used."""
    return (
        config_field("vocabulary", "vocab_size", vocabulary),
        config_field("context", "max_position_embeddings", 512, offset=position_offset),
        config_field("width", "hidden_size", 768),
        config_field("layers", "num_hidden_layers", 12),
        config_field("heads", "num_attention_heads", 12),
        config_field("feed_forward", "intermediate_size", 3072),
        config_field("activation", "hidden_act", "gelu", value_names=activations),
        config_field("segments", "type_vocab_size", 2),
        config_field("epsilon", "layer_norm_eps", 1e-12),
        dropout_field("hidden_dropout_prob", "attention_probs_dropout_prob", default=0.1),
    )


TIED = config_field("tied", "tie_word_embeddings", True)

CONFIG_CONSTRAINTS = (
    ConfigConstraint("is_decoder", (False,)),
    ConfigConstraint("add_cross_attention", (False,)),
    ConfigConstraint("position_embedding_type", ("absolute",), legacy=True),
    NOT_QUANTISED,
)

ENCODER: Mapping[str, tuple[Any, ...]] = {
    "kind": ("encoder",),
    "position": ("learned",),
    "connection": ("post-norm",),
    "embedding_norm": (True,),
    "bias": (True,),
}
MASKED_TOKEN_HEAD: Mapping[str, tuple[Any, ...]] = {"head.kind": ("masked-token", ""), "head.bias": (True,)}
POOLED_HEAD: Mapping[str, tuple[Any, ...]] = {"head.kind": ("pooled",)}

# The file does not say how token vectors are pooled, and a pooled head has no output matrix to tie.
POOLED_UNUSED = frozenset({"tied", "head.pooling"})
# Position and segment indices are precomputed. Glasshouse has no counterpart of the pooler (a layer on the first token's
# vector) and of the head for next-sentence prediction.
IGNORED_TENSORS = ("*position_ids", "*token_type_ids", "*pooler.dense.*", "cls.seq_relationship.*")
# The first BERT files name the weight and the bias of a norm after TensorFlow's variables.
LEGACY_SUFFIXES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}

BERT_FOR_MASKED_TOKENS = Architecture(
    names=("BertForMaskedLM",),
    model_type="bert",
    # BERT applies `hidden_act` in its head too; our masked-token head always uses the exact GELU.
    config_fields=(*encoder_config({"gelu": "gelu-exact", "gelu_python": "gelu-exact"}), TIED),
    config_constraints=CONFIG_CONSTRAINTS,
    fixed_fields={**ENCODER, **MASKED_TOKEN_HEAD},
    zero_filled_fields={"bias": True, "segments": 1, "head.bias": True},
    weight_mappings=weight_mappings,
    shared_tensors=shared_tensors,
    ignored_tensors=IGNORED_TENSORS,
    base_model_prefix="bert.",
    legacy_suffixes=LEGACY_SUFFIXES,
)

BERT = Architecture(
    names=("BertModel",),
    model_type="bert",
    config_fields=encoder_config(ACTIVATIONS),
    config_constraints=CONFIG_CONSTRAINTS,
    fixed_fields={**ENCODER, **POOLED_HEAD},
    zero_filled_fields={"bias": True, "segments": 1},
    unused_fields=POOLED_UNUSED,
    weight_mappings=weight_mappings,
    ignored_tensors=IGNORED_TENSORS,
    base_model_prefix="bert.",
    legacy_suffixes=LEGACY_SUFFIXES,
)
