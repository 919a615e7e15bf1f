"""Llama: a decoder with rotary positions, RMS norm and gated feed-forward (Touvron et al., LLaMA, 2023).

Hugging Face files of Llama use the same rotary layout as Glasshouse, so queries and keys need no weight permutation.
"""

from collections.abc import Mapping
from typing import Any

from glasshouse.interop.architectures.base import Architecture, SharedTensor, tied_tensor
from glasshouse.interop.architectures.config_fields import (
    NOT_QUANTISED,
    Config,
    ConfigConstraint,
    ConfigField,
    FieldValues,
    config_field,
    dropout_field,
)
from glasshouse.interop.architectures.layer_mappings import attention_layer, key_value_rows, query_rows, weight_and_bias
from glasshouse.interop.weight_mapping import WeightMapping, for_each_layer, one_to_one
from glasshouse.specs.spec import ModelSpec


def decoder_mappings(model: ModelSpec) -> list[WeightMapping]:
    """The mappings of a decoder without a head."""
    ours, theirs, bias = "blocks.{}", "model.layers.{}", model.bias
    attention = f"{theirs}.self_attn"
    projections = (f"{attention}.q_proj", f"{attention}.k_proj", f"{attention}.v_proj")
    rows = query_rows(model), key_value_rows(model)
    return [
        one_to_one("embedding.weight", "model.embed_tokens.weight"),
        *for_each_layer(
            model.layers,
            [
                *weight_and_bias(f"{ours}.attention_connection.norm", f"{theirs}.input_layernorm", bias=False),
                *attention_layer(f"{ours}.attention", projections, f"{attention}.o_proj", *rows, bias),
                *weight_and_bias(f"{ours}.feed_forward_connection.norm", f"{theirs}.post_attention_layernorm", bias=False),
                *weight_and_bias(f"{ours}.feed_forward.gate", f"{theirs}.mlp.gate_proj", bias),
                *weight_and_bias(f"{ours}.feed_forward.up", f"{theirs}.mlp.up_proj", bias),
                *weight_and_bias(f"{ours}.feed_forward.down", f"{theirs}.mlp.down_proj", bias),
            ],
        ),
        one_to_one("final_norm.weight", "model.norm.weight"),
    ]


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [*decoder_mappings(model), *([] if model.tied else [one_to_one("head.weight", "lm_head.weight")])]


def shared_tensors(model: ModelSpec) -> tuple[SharedTensor, ...]:
    return (tied_tensor("lm_head.weight", "model.embed_tokens.weight"),) if model.tied else ()


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


DECODER_CONFIG: tuple[ConfigField, ...] = (
    config_field("vocabulary", "vocab_size", 32000),
    config_field("context", "max_position_embeddings", 2048),
    config_field("width", "hidden_size", 4096),
    config_field("layers", "num_hidden_layers", 32),
    config_field("heads", "num_attention_heads", 32),
    config_field(
        "key_value_heads",
        "num_key_value_heads",
        lambda values: values["heads"],
        resolve_zero=lambda values: values["heads"],
    ),
    config_field("head_width", "head_dim", default_head_width, resolve_zero=default_head_width),
    config_field("feed_forward", "intermediate_size", 11008),
    config_field("activation", "hidden_act", "silu", value_names={"silu": "swiglu", "swish": "swiglu"}),
    config_field("epsilon", "rms_norm_eps", 1e-6),
    # Written in both places, because releases of transformers before 5 read the top-level key.
    ConfigField("rotary_base", ("rope_parameters.rope_theta", "rope_theta"), 10000.0),
    ConfigField("bias", ("attention_bias", "mlp_bias"), False),
    dropout_field("attention_dropout", default=0.0),
)
CONFIG_CONSTRAINTS = (
    ConfigConstraint("rope_parameters.rope_type", ("default",)),
    ConfigConstraint("rope_parameters.type", ("default",), legacy=True),
    ConfigConstraint("rope_scaling", (None,), legacy=True),
    ConfigConstraint("sliding_window", (None,), legacy=True),
    NOT_QUANTISED,
)
DECODER: Mapping[str, tuple[Any, ...]] = {
    "kind": ("decoder",),
    "norm": ("rms",),
    # Grouped-query attention with as many key-value heads as heads is dot-product attention.
    "attention": ("grouped-query", "dot-product"),
}
IGNORED_TENSORS = ("*.rotary_emb.inv_freq",)

LLAMA = Architecture(
    names=("LlamaForCausalLM",),
    model_type="llama",
    config_fields=(*DECODER_CONFIG, config_field("tied", "tie_word_embeddings", False)),
    config_constraints=CONFIG_CONSTRAINTS,
    fixed_fields={**DECODER, "head.kind": ("next-token", "")},
    weight_mappings=weight_mappings,
    shared_tensors=shared_tensors,
    ignored_tensors=IGNORED_TENSORS,
    base_model_prefix="model.",
    upgrade_config=upgrade_config,
)
