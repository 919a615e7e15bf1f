"""BART: an encoder-decoder (Lewis et al., BART, 2020).

Its position tables start with two unused rows. One embedding serves the source, the target and, if tied, the output.
"""

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, ConfigField
from glasshouse.interop.weight_mapping import Entry, Names, Theirs, reshape, skip_rows, within

SHARED_EMBEDDING = "model.shared.weight"
SOURCE_EMBEDDING, TARGET_EMBEDDING = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"


def stack(side: str) -> dict[str, Entry]:
    """The weights of the encoder or the decoder."""
    layer: Names = {
        "attention_connection.norm": "self_attn_layer_norm",
        "feed_forward.up": "fc1",
        "feed_forward.down": "fc2",
        "feed_forward_connection.norm": "final_layer_norm",
        "cross_connection.norm": "encoder_attn_layer_norm",
    }
    names: dict[str, Entry] = {
        "position.table": Theirs("embed_positions", skip_rows(2)),
        "embedding_norm": "layernorm_embedding",
        **within("blocks.{}.", "layers.{}.", layer),
    }
    for ours, theirs in (("attention", "self_attn"), ("cross_attention.attention", "encoder_attn")):
        attention: Names = {"projection": ("q_proj", "k_proj", "v_proj"), "output": "out_proj"}
        names |= within(f"blocks.{{}}.{ours}.", f"layers.{{}}.{theirs}.", attention)
    return within(f"{side}.", f"model.{side}.", names)


BART = Architecture(
    # BartModel, saved without a head, is read as a model with tied embeddings and no output bias.
    names=("BartForConditionalGeneration", "BartModel"),
    model_type="bart",
    config_fields=(
        ConfigField("vocabulary", "vocab_size", 50265),
        ConfigField("context", "max_position_embeddings", 1024),
        ConfigField("width", "d_model", 1024),
        ConfigField("layers", "decoder_layers", 12),
        ConfigField("encoder_layers", "encoder_layers", 12),
        ConfigField("heads", ("encoder_attention_heads", "decoder_attention_heads"), 16),
        ConfigField("feed_forward", ("encoder_ffn_dim", "decoder_ffn_dim"), 4096),
        ConfigField("activation", "activation_function", "gelu", value_names=ACTIVATIONS),
        ConfigField("tied", "tie_word_embeddings", True),
        ConfigField("dropout", ("dropout", "attention_dropout", "activation_dropout"), 0.0, value_if_unequal=0.0),
    ),
    config_values={"is_encoder_decoder": (True,), "scale_embedding": (False,)},
    legacy_config_values={
        "normalize_before": (False,),
        "normalize_embedding": (True,),
        "add_final_layer_norm": (False,),
        "static_position_embeddings": (False,),
    },
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
    weights={
        "embedding.weight": SOURCE_EMBEDDING,
        **stack("encoder"),
        **stack("decoder"),
        "head": "lm_head",
        "head.bias": Theirs("final_logits_bias", reshape((1, -1), (-1,))),
    },
    tied_weights={"embedding.weight": SHARED_EMBEDDING},
    tied_tensors=dict.fromkeys((SOURCE_EMBEDDING, TARGET_EMBEDDING, "lm_head.weight"), SHARED_EMBEDDING),
    # If nothing is tied, newer files have an embedding for each side, and a shared embedding that is not used.
    untied_tensors={TARGET_EMBEDDING: SOURCE_EMBEDDING},
    fallback_tensors={SHARED_EMBEDDING: SOURCE_EMBEDDING},
    optional_tensors={"final_logits_bias": "head.bias"},
    base_model_prefix="model.",
)
