"""Llama: a decoder with rotary positions, RMS norm and gated feed-forward (Touvron et al., LLaMA, 2023).

Hugging Face files of Llama use the same rotary layout as Glasshouse, so queries and keys need no weight permutation.
"""

from collections.abc import Mapping

from glasshouse.interop.architectures.base import Architecture, with_labels
from glasshouse.interop.architectures.config_fields import Config, ConfigField, FieldValues
from glasshouse.interop.weight_mapping import Names, within

LAYER: Names = {
    "attention_connection.norm": "input_layernorm",
    "attention.projection": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.output": "self_attn.o_proj",
    "feed_forward_connection.norm": "post_attention_layernorm",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.up": "mlp.up_proj",
    "feed_forward.down": "mlp.down_proj",
}
FIXED_FIELDS = {
    "kind": ("decoder",),
    "norm": ("rms",),
    # Grouped-query attention with as many key-value heads as heads is dot-product attention.
    "attention": ("grouped-query", "dot-product"),
}


def heads(values: FieldValues) -> int:
    return values["heads"]


def default_head_width(values: FieldValues) -> int:
    return values["width"] // values["heads"]


def upgrade_config(config: Config) -> Config:
    """Older configs have `rope_theta` and `rope_scaling` at the top level; current ones have `rope_parameters`.

    A `rope_scaling` of type "default" scales nothing and counts as absent.
    """
    scaling, rotary = config.get("rope_scaling"), config.get("rope_parameters")
    if isinstance(scaling, Mapping) and scaling.get("rope_type", scaling.get("type")) == "default":
        scaling, rotary = None, scaling
    rotary = dict(rotary) if isinstance(rotary, Mapping) else {}
    base = rotary["rope_theta"] if rotary.get("rope_theta") is not None else config.get("rope_theta")
    return {**config, "rope_scaling": scaling, "rope_parameters": {**rotary, "rope_theta": base}, "rope_theta": base}


LLAMA = Architecture(
    names=("LlamaForCausalLM",),
    model_type="llama",
    config_fields=(
        ConfigField("vocabulary", "vocab_size", 32000),
        ConfigField("context", "max_position_embeddings", 2048),
        ConfigField("width", "hidden_size", 4096),
        ConfigField("layers", "num_hidden_layers", 32),
        ConfigField("heads", "num_attention_heads", 32),
        ConfigField("key_value_heads", "num_key_value_heads", heads),
        ConfigField("head_width", "head_dim", default_head_width),
        ConfigField("feed_forward", "intermediate_size", 11008),
        ConfigField("activation", "hidden_act", "silu", value_names={"silu": "swiglu", "swish": "swiglu"}),
        ConfigField("epsilon", "rms_norm_eps", 1e-6),
        # Written in both places, because releases of transformers before 5 read the top-level key.
        ConfigField("rotary_base", ("rope_parameters.rope_theta", "rope_theta"), 10000.0),
        ConfigField("bias", ("attention_bias", "mlp_bias"), False),
        ConfigField("dropout", "attention_dropout", 0.0),
        ConfigField("tied", "tie_word_embeddings", False),
    ),
    config_values={"rope_parameters.rope_type": ("default",)},
    legacy_config_values={
        "rope_parameters.type": ("default",),
        "rope_scaling": (None,),
        "sliding_window": (None,),
    },
    fixed_fields={**FIXED_FIELDS, "head.kind": ("next-token", "")},
    weights={
        "embedding": "model.embed_tokens",
        **within("blocks.{}.", "model.layers.{}.", LAYER),
        "final_norm": "model.norm",
        "head": "lm_head",
    },
    tied_tensors={"lm_head.weight": "model.embed_tokens.weight"},
    ignored_tensors=("*.rotary_emb.inv_freq",),
    base_model_prefix="model.",
    upgrade_config=upgrade_config,
)

LLAMA_FOR_CLASSES = with_labels(LLAMA, "LlamaForSequenceClassification")
