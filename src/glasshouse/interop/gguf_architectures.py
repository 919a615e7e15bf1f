"""The two architectures that GGUF files and Glasshouse share, Llama's and GPT-2's: their parts, facts and tensor names.

Knows nothing of files or tokenizers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glasshouse.interop.weight_tables import WeightRow, for_each, halved, joined, row
from glasshouse.specs.spec import ModelSpec


@dataclass(frozen=True)
class GGUFArchitecture:
    """What a model must be to have this architecture, and where its tensors go."""

    name: str
    parts: dict[str, tuple[Any, ...]]
    """Fields of the model (dotted names below `model`) that differ from a spec's defaults, and the values that fit."""
    rows: Callable[[ModelSpec, int], list[WeightRow]]
    """The table of a model with so many heads of keys and values."""
    epsilon: str
    """The fact that holds the epsilon of the normalisation."""
    sizes: frozenset[str] = frozenset(
        {"width", "layers", "heads", "head_width", "feed_forward", "epsilon", "tied", "key_value_heads", "rotary_base"}
    )
    """Fields that may have any value: facts of the file say them."""


def llama_rows(model: ModelSpec, groups: int) -> list[WeightRow]:
    """Llama's: rotary pairs are neighbours there and halves of a head here."""
    width, shared = model.heads * head_width(model), groups * head_width(model)
    return [
        *_around(model, biases=False),
        *for_each(
            model.layers,
            [
                row("blocks.{}.attention_connection.norm.weight", "blk.{}.attn_norm.weight"),
                joined(
                    "blocks.{}.attention.projection.weight",
                    ("blk.{}.attn_q.weight", width, halved(model.heads)),
                    ("blk.{}.attn_k.weight", shared, halved(groups)),
                    ("blk.{}.attn_v.weight", shared),
                ),
                row("blocks.{}.attention.output.weight", "blk.{}.attn_output.weight"),
                row("blocks.{}.feed_forward_connection.norm.weight", "blk.{}.ffn_norm.weight"),
                row("blocks.{}.feed_forward.gate.weight", "blk.{}.ffn_gate.weight"),
                row("blocks.{}.feed_forward.up.weight", "blk.{}.ffn_up.weight"),
                row("blocks.{}.feed_forward.down.weight", "blk.{}.ffn_down.weight"),
            ],
        ),
    ]


def gpt2_rows(model: ModelSpec, groups: int) -> list[WeightRow]:
    """GPT-2's, biases always with them: in GGUF they are not optional."""
    pairs = [
        ("attention_connection.norm", "attn_norm"),
        ("attention.projection", "attn_qkv"),
        ("attention.output", "attn_output"),
        ("feed_forward_connection.norm", "ffn_norm"),
        ("feed_forward.up", "ffn_up"),
        ("feed_forward.down", "ffn_down"),
    ]
    return [
        *_around(model, biases=True),
        row("position.table.weight", "position_embd.weight"),
        *for_each(
            model.layers,
            [row(f"blocks.{{}}.{a}.{end}", f"blk.{{}}.{b}.{end}") for a, b in pairs for end in ("weight", "bias")],
        ),
    ]


def _around(model: ModelSpec, biases: bool) -> list[WeightRow]:
    output = [] if model.tied else [row("head.weight", "output.weight")]
    bias = [row("final_norm.bias", "output_norm.bias")] if biases else []
    return [row("embedding.weight", "token_embd.weight"), row("final_norm.weight", "output_norm.weight"), *bias, *output]


def head_width(model: ModelSpec) -> int:
    return model.head_width or model.width // model.heads


_BOTH: dict[str, tuple[Any, ...]] = {
    "kind": ("decoder",),
    "head.kind": ("", "next-token"),
}

LLAMA = GGUFArchitecture(
    "llama",
    {
        **_BOTH,
        "attention": ("dot-product", "grouped-query"),
        "position": ("rotary",),
        "norm": ("rms",),
        "activation": ("swiglu",),
    },
    llama_rows,
    "attention.layer_norm_rms_epsilon",
)
GPT2 = GGUFArchitecture(
    "gpt2",
    {**_BOTH, "position": ("learned",), "bias": (False, True)},
    gpt2_rows,
    "attention.layer_norm_epsilon",
)
ARCHITECTURES = {each.name: each for each in (LLAMA, GPT2)}
