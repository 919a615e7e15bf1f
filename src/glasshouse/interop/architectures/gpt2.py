"""GPT-2: a decoder with learned positions (Radford et al., Language Models are Unsupervised Multitask Learners, 2019)."""

from collections.abc import Mapping
from typing import Any

from glasshouse.interop.architectures.base import Architecture, SharedTensor, tied_tensor
from glasshouse.interop.architectures.config_fields import (
    ACTIVATIONS,
    NOT_QUANTISED,
    ConfigConstraint,
    config_field,
    dropout_field,
)
from glasshouse.interop.architectures.layer_mappings import weight_and_bias
from glasshouse.interop.weight_mapping import TRANSPOSE, WeightMapping, for_each_layer, one_to_one
from glasshouse.specs.spec import ModelSpec


def decoder_mappings(model: ModelSpec) -> list[WeightMapping]:
    """The mappings of a decoder without a head. The weight of a linear layer is transposed: (inputs, outputs)."""
    ours, theirs = "blocks.{}", "transformer.h.{}"
    return [
        one_to_one("embedding.weight", "transformer.wte.weight"),
        one_to_one("position.table.weight", "transformer.wpe.weight"),
        *for_each_layer(
            model.layers,
            [
                *weight_and_bias(f"{ours}.attention_connection.norm", f"{theirs}.ln_1"),
                *weight_and_bias(f"{ours}.attention.projection", f"{theirs}.attn.c_attn", transform=TRANSPOSE),
                *weight_and_bias(f"{ours}.attention.output", f"{theirs}.attn.c_proj", transform=TRANSPOSE),
                *weight_and_bias(f"{ours}.feed_forward_connection.norm", f"{theirs}.ln_2"),
                *weight_and_bias(f"{ours}.feed_forward.up", f"{theirs}.mlp.c_fc", transform=TRANSPOSE),
                *weight_and_bias(f"{ours}.feed_forward.down", f"{theirs}.mlp.c_proj", transform=TRANSPOSE),
            ],
        ),
        *weight_and_bias("final_norm", "transformer.ln_f"),
    ]


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [*decoder_mappings(model), *([] if model.tied else [one_to_one("head.weight", "lm_head.weight")])]


def shared_tensors(model: ModelSpec) -> tuple[SharedTensor, ...]:
    return (tied_tensor("lm_head.weight", "transformer.wte.weight"),) if model.tied else ()


DECODER_CONFIG = (
    config_field("vocabulary", "vocab_size", 50257),
    config_field("context", "n_positions", 1024),
    config_field("width", "n_embd", 768),
    config_field("layers", "n_layer", 12),
    config_field("heads", "n_head", 12),
    config_field("feed_forward", "n_inner", lambda values: 4 * values["width"]),
    config_field("activation", "activation_function", "gelu_new", value_names=ACTIVATIONS),
    config_field("epsilon", "layer_norm_epsilon", 1e-5),
    dropout_field("resid_pdrop", "embd_pdrop", "attn_pdrop", default=0.1),
)
CONFIG_CONSTRAINTS = (
    ConfigConstraint("scale_attn_weights", (True,)),
    ConfigConstraint("scale_attn_by_inverse_layer_idx", (False,)),
    ConfigConstraint("add_cross_attention", (False,)),
    NOT_QUANTISED,
)
DECODER: Mapping[str, tuple[Any, ...]] = {"kind": ("decoder",), "position": ("learned",), "bias": (True,)}
# Precomputed causal masks.
IGNORED_TENSORS = ("*.attn.bias", "*.attn.masked_bias")

GPT2 = Architecture(
    # GPT2Model, saved without a head, is read as a model with tied embeddings: only the prefix of its names differs.
    names=("GPT2LMHeadModel", "GPT2Model"),
    model_type="gpt2",
    config_fields=(*DECODER_CONFIG, config_field("tied", "tie_word_embeddings", True)),
    config_constraints=CONFIG_CONSTRAINTS,
    fixed_fields={**DECODER, "head.kind": ("next-token", "")},
    zero_filled_fields={"bias": True},
    weight_mappings=weight_mappings,
    shared_tensors=shared_tensors,
    ignored_tensors=IGNORED_TENSORS,
    base_model_prefix="transformer.",
)
