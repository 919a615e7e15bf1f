"""BART: an encoder-decoder (Lewis et al., BART, 2020).

Its position tables start with two unused rows. One embedding serves the source, the target and, if tied, the output.
"""

from glasshouse.interop.architectures.base import Architecture, SharedTensor
from glasshouse.interop.architectures.config_fields import (
    ACTIVATIONS,
    NOT_QUANTISED,
    ConfigConstraint,
    ConfigField,
    config_field,
    dropout_field,
)
from glasshouse.interop.architectures.layer_mappings import attention_layer, weight_and_bias
from glasshouse.interop.weight_mapping import WeightMapping, for_each_layer, one_to_one, reshape, skip_rows
from glasshouse.specs.spec import ModelSpec

SHARED_EMBEDDING = "model.shared.weight"
SOURCE_EMBEDDING, TARGET_EMBEDDING = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
POSITION_OFFSET = 2


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    bias = [one_to_one("head.bias", "final_logits_bias", reshape((1, -1), (-1,)))]
    return [
        one_to_one("embedding.weight", SHARED_EMBEDDING if model.tied else SOURCE_EMBEDDING),
        *_stack(model, "encoder", model.own.get("encoder_layers") or model.layers),
        *_stack(model, "decoder", model.layers),
        *([] if model.tied else [one_to_one("head.weight", "lm_head.weight")]),
        *(bias if model.head.own.get("bias") else []),
    ]


def _stack(model: ModelSpec, side: str, layers: int) -> list[WeightMapping]:
    """The mappings of the encoder or the decoder, whose layers also have cross-attention."""
    ours, theirs = f"{side}.blocks.{{}}", f"model.{side}.layers.{{}}"
    mappings = [
        *_attention(model, f"{ours}.attention", f"{theirs}.self_attn"),
        *weight_and_bias(f"{ours}.attention_connection.norm", f"{theirs}.self_attn_layer_norm"),
        *weight_and_bias(f"{ours}.feed_forward.up", f"{theirs}.fc1"),
        *weight_and_bias(f"{ours}.feed_forward.down", f"{theirs}.fc2"),
        *weight_and_bias(f"{ours}.feed_forward_connection.norm", f"{theirs}.final_layer_norm"),
    ]
    if side == "decoder":
        mappings += _attention(model, f"{ours}.cross_attention.attention", f"{theirs}.encoder_attn")
        mappings += weight_and_bias(f"{ours}.cross_connection.norm", f"{theirs}.encoder_attn_layer_norm")
    return [
        one_to_one(f"{side}.position.table.weight", f"model.{side}.embed_positions.weight", skip_rows(POSITION_OFFSET)),
        *weight_and_bias(f"{side}.embedding_norm", f"model.{side}.layernorm_embedding"),
        *for_each_layer(layers, mappings),
    ]


def _attention(model: ModelSpec, ours: str, theirs: str) -> list[WeightMapping]:
    projections = (f"{theirs}.q_proj", f"{theirs}.k_proj", f"{theirs}.v_proj")
    return attention_layer(ours, projections, f"{theirs}.out_proj", model.width)


def shared_tensors(model: ModelSpec) -> tuple[SharedTensor, ...]:
    """If nothing is tied, newer files have an embedding for each side, and a shared embedding that is not used."""
    reason = "Glasshouse has one embedding for source and target"
    if model.tied:
        return (
            SharedTensor(
                (SHARED_EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING, "lm_head.weight"),
                f"{reason}, and tie_word_embeddings ties the output to it",
            ),
        )
    return (SharedTensor((SOURCE_EMBEDDING, TARGET_EMBEDDING), reason, fallback_names=(SHARED_EMBEDDING,), write_all=True),)


BART = Architecture(
    # BartModel, saved without a head, is read as a model with tied embeddings and no output bias.
    names=("BartForConditionalGeneration", "BartModel"),
    model_type="bart",
    config_fields=(
        config_field("vocabulary", "vocab_size", 50265),
        config_field("context", "max_position_embeddings", 1024),
        config_field("width", "d_model", 1024),
        config_field("layers", "decoder_layers", 12),
        config_field("encoder_layers", "encoder_layers", 12),
        ConfigField("heads", ("encoder_attention_heads", "decoder_attention_heads"), 16),
        ConfigField("feed_forward", ("encoder_ffn_dim", "decoder_ffn_dim"), 4096),
        config_field("activation", "activation_function", "gelu", value_names=ACTIVATIONS),
        config_field("tied", "tie_word_embeddings", True),
        dropout_field("dropout", "attention_dropout", "activation_dropout", default=0.0),
    ),
    config_constraints=(
        ConfigConstraint("is_encoder_decoder", (True,)),
        ConfigConstraint("scale_embedding", (False,)),
        ConfigConstraint("normalize_before", (False,), legacy=True),
        ConfigConstraint("normalize_embedding", (True,), legacy=True),
        ConfigConstraint("add_final_layer_norm", (False,), legacy=True),
        ConfigConstraint("static_position_embeddings", (False,), legacy=True),
        NOT_QUANTISED,
    ),
    fixed_fields={
        "kind": ("encoder-decoder",),
        "head.kind": ("next-token", ""),
        "position": ("learned",),
        "connection": ("post-norm",),
        "embedding_norm": (True,),
        "bias": (True,),
        "head.bias": (True,),
    },
    zero_filled_fields={"bias": True, "head.bias": True},
    weight_mappings=weight_mappings,
    shared_tensors=shared_tensors,
    optional_tensors={"final_logits_bias": "head.bias"},
    base_model_prefix="model.",
)
