"""Llama: a decoder with rotary positions, RMS norm and gated feed-forward (Touvron et al., LLaMA, 2023).

Its files for Hugging Face pair the halves of a head, as our rotary positions do: rows stay in their order.
"""

from collections.abc import Mapping

from glasshouse.interop.architectures.base import Architecture, Same, tied
from glasshouse.interop.architectures.config_fields import PLAIN_NUMBERS, Config, Demand, Setting, Values, dropouts, setting
from glasshouse.interop.architectures.weight_rows import attention, key_rows, pair, query_rows
from glasshouse.interop.weight_tables import WeightRow, for_each, row
from glasshouse.specs.spec import ModelSpec


def weights(model: ModelSpec) -> list[WeightRow]:
    block, inner, bias = "blocks.{}", "model.layers.{}", model.bias
    looks = f"{inner}.self_attn"
    projections = (f"{looks}.q_proj", f"{looks}.k_proj", f"{looks}.v_proj")
    return [
        row("embedding.weight", "model.embed_tokens.weight"),
        *for_each(
            model.layers,
            [
                *pair(f"{block}.attention_connection.norm", f"{inner}.input_layernorm", bias=False),
                *attention(f"{block}.attention", projections, f"{looks}.o_proj", query_rows(model), key_rows(model), bias),
                *pair(f"{block}.feed_forward_connection.norm", f"{inner}.post_attention_layernorm", bias=False),
                *pair(f"{block}.feed_forward.gate", f"{inner}.mlp.gate_proj", bias),
                *pair(f"{block}.feed_forward.up", f"{inner}.mlp.up_proj", bias),
                *pair(f"{block}.feed_forward.down", f"{inner}.mlp.down_proj", bias),
            ],
        ),
        row("final_norm.weight", "model.norm.weight"),
        *([] if model.tied else [row("head.weight", "lm_head.weight")]),
    ]


def same(model: ModelSpec) -> tuple[Same, ...]:
    return (tied("lm_head.weight", "model.embed_tokens.weight"),) if model.tied else ()


def natural_width(ours: Values) -> int:
    return ours["width"] // ours["heads"]


def modern(config: Config) -> Config:
    """Older configs have `rope_theta` and `rope_scaling` at the top. A scaling that scales nothing counts as none."""
    scaling, rotary = config.get("rope_scaling"), config.get("rope_parameters")
    if isinstance(scaling, Mapping) and scaling.get("rope_type", scaling.get("type")) == "default":
        scaling, rotary = None, scaling
    rotary = dict(rotary) if isinstance(rotary, Mapping) else {}
    base = rotary["rope_theta"] if rotary.get("rope_theta") is not None else config.get("rope_theta")
    return {**config, "rope_scaling": scaling, "rope_parameters": {**rotary, "rope_theta": base}, "rope_theta": base}


LLAMA = Architecture(
    names=("LlamaForCausalLM",),
    model_type="llama",
    settings=(
        setting("vocabulary", "vocab_size", 32000),
        setting("context", "max_position_embeddings", 2048),
        setting("width", "hidden_size", 4096),
        setting("layers", "num_hidden_layers", 32),
        setting("heads", "num_attention_heads", 32),
        setting("key_value_heads", "num_key_value_heads", lambda ours: ours["heads"], zero=lambda ours: ours["heads"]),
        setting("head_width", "head_dim", natural_width, zero=natural_width),
        setting("feed_forward", "intermediate_size", 11008),
        setting("activation", "hidden_act", "silu", words={"silu": "swiglu", "swish": "swiglu"}),
        setting("epsilon", "rms_norm_eps", 1e-6),
        # Written in both places: the releases of transformers before 5 look at the top.
        Setting("rotary_base", ("rope_parameters.rope_theta", "rope_theta"), 10000.0),
        setting("tied", "tie_word_embeddings", False),
        Setting("bias", ("attention_bias", "mlp_bias"), False),
        dropouts("attention_dropout", default=0.0),
    ),
    demands=(
        Demand("rope_parameters.rope_type", ("default",)),
        Demand("rope_parameters.type", ("default",), older=True),
        Demand("rope_scaling", (None,), older=True),
        Demand("sliding_window", (None,), older=True),
        PLAIN_NUMBERS,
    ),
    fixed={
        "kind": ("decoder",),
        "head.kind": ("next-token", ""),
        "norm": ("rms",),
        # With as many key-value heads as heads the one is the other.
        "attention": ("grouped-query", "dot-product"),
    },
    weights=weights,
    same=same,
    ignored=("*.rotary_emb.inv_freq",),
    prefix="model.",
    modern=modern,
)
