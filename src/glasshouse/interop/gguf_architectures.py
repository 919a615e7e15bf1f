"""The two GGUF architectures that Glasshouse supports, Llama and GPT-2: their spec fields, metadata keys and tensor names.

Knows no files and no tokenizers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glasshouse.interop.weight_mapping import (
    WeightMapping,
    concatenation,
    for_each_layer,
    one_to_one,
    rotary_permutation,
)
from glasshouse.specs.spec import ModelSpec


@dataclass(frozen=True)
class GGUFArchitecture:
    """One architecture: which specs have it, and how their tensors are named in a GGUF file."""

    name: str
    fixed_fields: dict[str, tuple[Any, ...]]
    """Spec fields that differ from the defaults (dotted names below `model`), and the values that the architecture supports.
    An import sets the first value."""
    weight_mappings: Callable[[ModelSpec, int], list[WeightMapping]]
    """The mapping of every tensor of a model with a given number of key-value heads."""
    epsilon_key: str
    """The metadata key of the normalisation's epsilon."""
    free_fields: frozenset[str] = frozenset(
        {"width", "layers", "heads", "head_width", "feed_forward", "epsilon", "tied", "key_value_heads", "rotary_base"}
    )
    """Spec fields that may have any value: the metadata or the tensors of the file hold them."""


def llama_mappings(model: ModelSpec, key_value_heads: int) -> list[WeightMapping]:
    """Llama. GGUF files interleave the rotary pairs of a head, so queries and keys are permuted."""
    query_rows, key_value_rows = model.heads * head_width(model), key_value_heads * head_width(model)
    return [
        *_mappings_outside_blocks(model, biases=False),
        *for_each_layer(
            model.layers,
            [
                one_to_one("blocks.{}.attention_connection.norm.weight", "blk.{}.attn_norm.weight"),
                concatenation(
                    "blocks.{}.attention.projection.weight",
                    ("blk.{}.attn_q.weight", query_rows, rotary_permutation(model.heads)),
                    ("blk.{}.attn_k.weight", key_value_rows, rotary_permutation(key_value_heads)),
                    ("blk.{}.attn_v.weight", key_value_rows),
                ),
                one_to_one("blocks.{}.attention.output.weight", "blk.{}.attn_output.weight"),
                one_to_one("blocks.{}.feed_forward_connection.norm.weight", "blk.{}.ffn_norm.weight"),
                one_to_one("blocks.{}.feed_forward.gate.weight", "blk.{}.ffn_gate.weight"),
                one_to_one("blocks.{}.feed_forward.up.weight", "blk.{}.ffn_up.weight"),
                one_to_one("blocks.{}.feed_forward.down.weight", "blk.{}.ffn_down.weight"),
            ],
        ),
    ]


def gpt2_mappings(model: ModelSpec, key_value_heads: int) -> list[WeightMapping]:
    """GPT-2. Its biases are always mapped, because a GGUF file must have them."""
    layers = [
        ("attention_connection.norm", "attn_norm"),
        ("attention.projection", "attn_qkv"),
        ("attention.output", "attn_output"),
        ("feed_forward_connection.norm", "ffn_norm"),
        ("feed_forward.up", "ffn_up"),
        ("feed_forward.down", "ffn_down"),
    ]
    return [
        *_mappings_outside_blocks(model, biases=True),
        one_to_one("position.table.weight", "position_embd.weight"),
        *for_each_layer(
            model.layers,
            [
                one_to_one(f"blocks.{{}}.{ours}.{kind}", f"blk.{{}}.{theirs}.{kind}")
                for ours, theirs in layers
                for kind in ("weight", "bias")
            ],
        ),
    ]


def _mappings_outside_blocks(model: ModelSpec, biases: bool) -> list[WeightMapping]:
    """The embedding, the final norm and, unless it is tied, the output matrix."""
    return [
        one_to_one("embedding.weight", "token_embd.weight"),
        one_to_one("final_norm.weight", "output_norm.weight"),
        *([one_to_one("final_norm.bias", "output_norm.bias")] if biases else []),
        *([] if model.tied else [one_to_one("head.weight", "output.weight")]),
    ]


def head_width(model: ModelSpec) -> int:
    return model.head_width or model.width // model.heads


_DECODER: dict[str, tuple[Any, ...]] = {
    "kind": ("decoder",),
    "head.kind": ("", "next-token"),
}

LLAMA = GGUFArchitecture(
    "llama",
    {
        **_DECODER,
        "attention": ("dot-product", "grouped-query"),
        "position": ("rotary",),
        "norm": ("rms",),
        "activation": ("swiglu",),
    },
    llama_mappings,
    "attention.layer_norm_rms_epsilon",
)
GPT2 = GGUFArchitecture(
    "gpt2",
    {**_DECODER, "position": ("learned",), "bias": (False, True)},
    gpt2_mappings,
    "attention.layer_norm_epsilon",
)
ARCHITECTURES = {architecture.name: architecture for architecture in (LLAMA, GPT2)}
