"""GPT-2: a decoder with learned positions (Radford et al., Language Models are Unsupervised Multitask Learners, 2019)."""

from glasshouse.interop.architectures.base import Architecture, with_labels
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, ConfigField
from glasshouse.interop.weight_mapping import TRANSPOSE, Names, Theirs, within

# The weight of a linear layer is transposed: (inputs, outputs).
LAYER: Names = {
    "attention_connection.norm": "ln_1",
    "attention.projection": Theirs("attn.c_attn", TRANSPOSE),
    "attention.output": Theirs("attn.c_proj", TRANSPOSE),
    "feed_forward_connection.norm": "ln_2",
    "feed_forward.up": Theirs("mlp.c_fc", TRANSPOSE),
    "feed_forward.down": Theirs("mlp.c_proj", TRANSPOSE),
}

GPT2 = Architecture(
    # GPT2Model, saved without a head, is read as a model with tied embeddings: only the prefix of its names differs.
    names=("GPT2LMHeadModel", "GPT2Model"),
    model_type="gpt2",
    config_fields=(
        ConfigField("vocabulary", "vocab_size", 50257),
        ConfigField("context", "n_positions", 1024),
        ConfigField("width", "n_embd", 768),
        ConfigField("layers", "n_layer", 12),
        ConfigField("heads", "n_head", 12),
        ConfigField("feed_forward", "n_inner", lambda values: 4 * values["width"]),
        ConfigField("activation", "activation_function", "gelu_new", value_names=ACTIVATIONS),
        ConfigField("epsilon", "layer_norm_epsilon", 1e-5),
        ConfigField("dropout", ("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.1, value_if_unequal=0.0),
        ConfigField("tied", "tie_word_embeddings", True),
    ),
    config_values={
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
    },
    fixed_fields={"kind": ("decoder",), "head.kind": ("next-token", ""), "position": ("learned",), "bias": (True,)},
    zero_filled_fields={"bias": True},
    weights={
        "embedding": "transformer.wte",
        "position.table": "transformer.wpe",
        **within("blocks.{}.", "transformer.h.{}.", LAYER),
        "final_norm": "transformer.ln_f",
        "head": "lm_head",
    },
    tied_tensors={"lm_head.weight": "transformer.wte.weight"},
    # Precomputed causal masks.
    ignored_tensors=("*.attn.bias", "*.attn.masked_bias"),
    base_model_prefix="transformer.",
)

GPT2_FOR_CLASSES = with_labels(GPT2, "GPT2ForSequenceClassification")
