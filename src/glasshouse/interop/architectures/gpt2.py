"""GPT-2: a decoder with learned positions (Radford et al., Language Models are Unsupervised Multitask Learners, 2019)."""

from glasshouse.interop.architectures.base import Architecture, Same, tied
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, PLAIN_NUMBERS, Demand, dropouts, setting
from glasshouse.interop.architectures.weight_rows import pair
from glasshouse.interop.weight_tables import TRANSPOSED, WeightRow, for_each, row
from glasshouse.specs.spec import ModelSpec


def weights(model: ModelSpec) -> list[WeightRow]:
    """Their layers hold matrices the other way round."""
    block, inner = "blocks.{}", "transformer.h.{}"
    return [
        row("embedding.weight", "transformer.wte.weight"),
        row("position.table.weight", "transformer.wpe.weight"),
        *for_each(
            model.layers,
            [
                *pair(f"{block}.attention_connection.norm", f"{inner}.ln_1"),
                *pair(f"{block}.attention.projection", f"{inner}.attn.c_attn", change=TRANSPOSED),
                *pair(f"{block}.attention.output", f"{inner}.attn.c_proj", change=TRANSPOSED),
                *pair(f"{block}.feed_forward_connection.norm", f"{inner}.ln_2"),
                *pair(f"{block}.feed_forward.up", f"{inner}.mlp.c_fc", change=TRANSPOSED),
                *pair(f"{block}.feed_forward.down", f"{inner}.mlp.c_proj", change=TRANSPOSED),
            ],
        ),
        *pair("final_norm", "transformer.ln_f"),
        *([] if model.tied else [row("head.weight", "lm_head.weight")]),
    ]


def same(model: ModelSpec) -> tuple[Same, ...]:
    return (tied("lm_head.weight", "transformer.wte.weight"),) if model.tied else ()


GPT2 = Architecture(
    # The inner model alone is one with a tied output: its files are those of the whole, less a prefix.
    names=("GPT2LMHeadModel", "GPT2Model"),
    model_type="gpt2",
    settings=(
        setting("vocabulary", "vocab_size", 50257),
        setting("context", "n_positions", 1024),
        setting("width", "n_embd", 768),
        setting("layers", "n_layer", 12),
        setting("heads", "n_head", 12),
        setting("feed_forward", "n_inner", lambda ours: 4 * ours["width"]),
        setting("activation", "activation_function", "gelu_new", words=ACTIVATIONS),
        setting("epsilon", "layer_norm_epsilon", 1e-5),
        setting("tied", "tie_word_embeddings", True),
        dropouts("resid_pdrop", "embd_pdrop", "attn_pdrop", default=0.1),
    ),
    demands=(
        Demand("scale_attn_weights", (True,)),
        Demand("scale_attn_by_inverse_layer_idx", (False,)),
        Demand("add_cross_attention", (False,)),
        PLAIN_NUMBERS,
    ),
    fixed={
        "kind": ("decoder",),
        "head.kind": ("next-token", ""),
        "position": ("learned",),
        "bias": (True,),
    },
    zeros={"bias": True},
    weights=weights,
    same=same,
    # Tables of the causal mask.
    ignored=("*.attn.bias", "*.attn.masked_bias"),
    prefix="transformer.",
)
