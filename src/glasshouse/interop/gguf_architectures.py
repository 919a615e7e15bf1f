"""The two GGUF architectures that Glasshouse supports, Llama and GPT-2: their spec fields, metadata keys and tensor names.

They are declared as those of Hugging Face are; the metadata take the place of config.json. Knows no files and no tokenizers.
"""

from functools import partial

import numpy as np

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import Config, ConfigConstraint, ConfigField
from glasshouse.interop.architectures.llama import FIXED_FIELDS, default_head_width, heads
from glasshouse.interop.weight_mapping import ROTARY_PAIRS, Theirs, within


def upgrade_metadata(name: str, metadata: Config) -> Config:
    """The metadata with one number where a file stores it for every layer, and with decimal numbers.

    GGUF stores them in float32. The shortest decimal number with this value is the one that was meant.
    """
    found = {f"{name}.attention.head_count_kv": metadata.get(f"{name}.attention.head_count")}
    for key, value in metadata.items():
        if isinstance(value, list) and value and value == value[:1] * len(value):
            value = value[0]
        found[key] = float(str(np.float32(value))) if isinstance(value, float) else value
    return found


def decoder_config(name: str, epsilon: str) -> tuple[ConfigField, ...]:
    return (
        ConfigField("vocabulary", f"{name}.vocab_size"),
        ConfigField("context", f"{name}.context_length"),
        ConfigField("width", f"{name}.embedding_length"),
        ConfigField("layers", f"{name}.block_count"),
        ConfigField("feed_forward", f"{name}.feed_forward_length"),
        ConfigField("epsilon", f"{name}.attention.{epsilon}"),
    )


DECODER = {"embedding": "token_embd", "final_norm": "output_norm", "head": "output"}

LLAMA = Architecture(
    names=("llama",),
    model_type="llama",
    config_fields=(
        *decoder_config("llama", "layer_norm_rms_epsilon"),
        ConfigField("heads", "llama.attention.head_count"),
        ConfigField("key_value_heads", "llama.attention.head_count_kv", resolve_zero=heads),
        ConfigField(
            "head_width",
            ("llama.attention.key_length", "llama.attention.value_length", "llama.rope.dimension_count"),
            default_head_width,
            resolve_zero=default_head_width,
        ),
        ConfigField("rotary_base", "llama.rope.freq_base", 10000.0),
    ),
    config_constraints=(
        ConfigConstraint("llama.rope.scaling.type", ("none", "linear"), legacy=True),
        ConfigConstraint("llama.rope.scaling.factor", (0.0, 1.0), legacy=True),
        ConfigConstraint("llama.rope.scale_linear", (0.0, 1.0), legacy=True),
        ConfigConstraint("llama.expert_count", (0,), legacy=True),
    ),
    fixed_fields={**FIXED_FIELDS, "head.kind": ("", "next-token"), "activation": ("swiglu",)},
    unused_fields=frozenset({"tied"}),
    # GGUF files interleave the rotary pairs of a head.
    weights={
        **DECODER,
        **within(
            "blocks.{}.",
            "blk.{}.",
            {
                "attention_connection.norm": "attn_norm",
                "attention.projection": (Theirs("attn_q", ROTARY_PAIRS), Theirs("attn_k", ROTARY_PAIRS), "attn_v"),
                "attention.output": "attn_output",
                "feed_forward_connection.norm": "ffn_norm",
                "feed_forward.gate": "ffn_gate",
                "feed_forward.up": "ffn_up",
                "feed_forward.down": "ffn_down",
            },
        ),
    },
    upgrade_config=partial(upgrade_metadata, "llama"),
)
GPT2 = Architecture(
    names=("gpt2",),
    model_type="gpt2",
    config_fields=(
        *decoder_config("gpt2", "layer_norm_epsilon"),
        ConfigField("heads", ("gpt2.attention.head_count", "gpt2.attention.head_count_kv")),
    ),
    fixed_fields={"kind": ("decoder",), "head.kind": ("", "next-token"), "position": ("learned",), "bias": (True,)},
    zero_filled_fields={"bias": True},
    unused_fields=frozenset({"tied"}),
    weights={
        **DECODER,
        "position.table": "position_embd",
        **within(
            "blocks.{}.",
            "blk.{}.",
            {
                "attention_connection.norm": "attn_norm",
                "attention.projection": "attn_qkv",
                "attention.output": "attn_output",
                "feed_forward_connection.norm": "ffn_norm",
                "feed_forward.up": "ffn_up",
                "feed_forward.down": "ffn_down",
            },
        ),
    },
    upgrade_config=partial(upgrade_metadata, "gpt2"),
)
ARCHITECTURES = {architecture.name: architecture for architecture in (LLAMA, GPT2)}
