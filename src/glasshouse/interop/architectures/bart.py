"""BART: an encoder-decoder (Lewis et al., BART, 2020).

Its tables of positions begin with two rows that stand for none. It has one embedding for source, target and, tied, output.
"""

from glasshouse.interop.architectures.base import Architecture, Same
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, PLAIN_NUMBERS, Demand, Setting, dropouts, setting
from glasshouse.interop.architectures.weight_rows import attention, pair
from glasshouse.interop.weight_tables import WeightRow, for_each, row, shaped, skipping
from glasshouse.specs.spec import ModelSpec

SHARED = "model.shared.weight"
OF_SOURCE, OF_TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"


def weights(model: ModelSpec) -> list[WeightRow]:
    bias = [row("head.bias", "final_logits_bias", shaped((1, -1), (-1,)))]
    return [
        row("embedding.weight", SHARED if model.tied else OF_SOURCE),
        *_tower(model, "encoder", model.own.get("encoder_layers") or model.layers),
        *_tower(model, "decoder", model.layers),
        *([] if model.tied else [row("head.weight", "lm_head.weight")]),
        *(bias if model.head.own.get("bias") else []),
    ]


def _tower(model: ModelSpec, side: str, layers: int) -> list[WeightRow]:
    block, inner = f"{side}.blocks.{{}}", f"model.{side}.layers.{{}}"
    rows = [
        *_attention(model, f"{block}.attention", f"{inner}.self_attn"),
        *pair(f"{block}.attention_connection.norm", f"{inner}.self_attn_layer_norm"),
        *pair(f"{block}.feed_forward.up", f"{inner}.fc1"),
        *pair(f"{block}.feed_forward.down", f"{inner}.fc2"),
        *pair(f"{block}.feed_forward_connection.norm", f"{inner}.final_layer_norm"),
    ]
    if side == "decoder":
        rows += _attention(model, f"{block}.cross_attention.attention", f"{inner}.encoder_attn")
        rows += pair(f"{block}.cross_connection.norm", f"{inner}.encoder_attn_layer_norm")
    return [
        row(f"{side}.position.table.weight", f"model.{side}.embed_positions.weight", skipping(2)),
        *pair(f"{side}.embedding_norm", f"model.{side}.layernorm_embedding"),
        *for_each(layers, rows),
    ]


def _attention(model: ModelSpec, ours: str, theirs: str) -> list[WeightRow]:
    return attention(ours, (f"{theirs}.q_proj", f"{theirs}.k_proj", f"{theirs}.v_proj"), f"{theirs}.out_proj", model.width)


def same(model: ModelSpec) -> tuple[Same, ...]:
    """Where nothing is tied, newer files have an embedding for each side and a shared one that nothing uses."""
    why = "Glasshouse has one embedding for source and target"
    if model.tied:
        return (
            Same((SHARED, OF_SOURCE, OF_TARGET, "lm_head.weight"), f"{why}, and tie_word_embeddings one for the output"),
        )
    return (Same((OF_SOURCE, OF_TARGET), why, spare=(SHARED,), written=True),)


BART = Architecture(
    # The inner model alone is one with a tied output and no bias for it.
    names=("BartForConditionalGeneration", "BartModel"),
    model_type="bart",
    settings=(
        setting("vocabulary", "vocab_size", 50265),
        setting("context", "max_position_embeddings", 1024),
        setting("width", "d_model", 1024),
        setting("layers", "decoder_layers", 12),
        setting("encoder_layers", "encoder_layers", 12),
        Setting("heads", ("encoder_attention_heads", "decoder_attention_heads"), 16),
        Setting("feed_forward", ("encoder_ffn_dim", "decoder_ffn_dim"), 4096),
        setting("activation", "activation_function", "gelu", words=ACTIVATIONS),
        setting("tied", "tie_word_embeddings", True),
        dropouts("dropout", "attention_dropout", "activation_dropout", default=0.0),
    ),
    demands=(
        Demand("is_encoder_decoder", (True,)),
        Demand("scale_embedding", (False,)),
        Demand("normalize_before", (False,), older=True),
        Demand("normalize_embedding", (True,), older=True),
        Demand("add_final_layer_norm", (False,), older=True),
        Demand("static_position_embeddings", (False,), older=True),
        PLAIN_NUMBERS,
    ),
    fixed={
        "kind": ("encoder-decoder",),
        "head.kind": ("next-token", ""),
        "position": ("learned",),
        "connection": ("post-norm",),
        "embedding_norm": (True,),
        "bias": (True,),
        "head.bias": (True,),
    },
    zeros={"bias": True, "head.bias": True},
    weights=weights,
    same=same,
    optional={"final_logits_bias": "head.bias"},
    prefix="model.",
)
