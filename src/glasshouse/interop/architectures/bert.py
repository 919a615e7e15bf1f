"""BERT: an encoder that guesses hidden tokens (Devlin et al., BERT, 2019), with that head and without a head."""

from collections.abc import Mapping
from typing import Any

from glasshouse.interop.architectures.base import Architecture, Same, tied
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, PLAIN_NUMBERS, Demand, Setting, dropouts, setting
from glasshouse.interop.architectures.weight_rows import attention, pair
from glasshouse.interop.weight_tables import SAME, Change, WeightRow, for_each, row
from glasshouse.specs.spec import ModelSpec

# Their head has a bias of the matrix and one beside it, which are one where the matrix is tied, and of which only the first
# counts where it is not.
HEAD = "cls.predictions"


def encoder(model: ModelSpec, prefix: str, positions: Change = SAME) -> list[WeightRow]:
    """The rows of a headless encoder, which RoBERTa's are too."""
    block, inner = "blocks.{}", f"{prefix}encoder.layer.{{}}"
    looks = f"{inner}.attention"
    projections = (f"{looks}.self.query", f"{looks}.self.key", f"{looks}.self.value")
    return [
        row("embedding.weight", f"{prefix}embeddings.word_embeddings.weight"),
        row("position.table.weight", f"{prefix}embeddings.position_embeddings.weight", positions),
        *([row("segments.weight", f"{prefix}embeddings.token_type_embeddings.weight")] if model.own.get("segments") else []),
        *pair("embedding_norm", f"{prefix}embeddings.LayerNorm"),
        *for_each(
            model.layers,
            [
                *attention(f"{block}.attention", projections, f"{looks}.output.dense", model.width),
                *pair(f"{block}.attention_connection.norm", f"{looks}.output.LayerNorm"),
                *pair(f"{block}.feed_forward.up", f"{inner}.intermediate.dense"),
                *pair(f"{block}.feed_forward.down", f"{inner}.output.dense"),
                *pair(f"{block}.feed_forward_connection.norm", f"{inner}.output.LayerNorm"),
            ],
        ),
    ]


def weights(model: ModelSpec) -> list[WeightRow]:
    """Without a head the names have no prefix."""
    if model.head.kind == "pooled":
        return encoder(model, "")
    return [
        *encoder(model, "bert."),
        *pair("head.transform", f"{HEAD}.transform.dense"),
        *pair("head.norm", f"{HEAD}.transform.LayerNorm"),
        row("head.bias", f"{HEAD}.bias" if model.tied else f"{HEAD}.decoder.bias"),
        *([] if model.tied else [row("head.weight", f"{HEAD}.decoder.weight")]),
    ]


def same(model: ModelSpec) -> tuple[Same, ...]:
    return head_names(model, f"{HEAD}.decoder", f"{HEAD}.bias", "bert.embeddings.word_embeddings.weight")


def head_names(model: ModelSpec, decoder: str, bias: str, embedding: str) -> tuple[Same, ...]:
    """The names of a head's matrix and its bias, tied or not."""
    if model.tied:
        return (tied(f"{decoder}.bias", bias), tied(f"{decoder}.weight", embedding))
    return (Same((f"{decoder}.bias",), "", spare=(bias,), written=True),)


def settings(activations: Mapping[str, str], vocabulary: int = 30522, offset: int = 0) -> tuple[Setting, ...]:
    """The settings of an encoder whose table of positions begins with so many that stand for none."""
    return (
        setting("vocabulary", "vocab_size", vocabulary),
        setting("context", "max_position_embeddings", 512, offset=offset),
        setting("width", "hidden_size", 768),
        setting("layers", "num_hidden_layers", 12),
        setting("heads", "num_attention_heads", 12),
        setting("feed_forward", "intermediate_size", 3072),
        setting("activation", "hidden_act", "gelu", words=activations),
        setting("segments", "type_vocab_size", 2),
        setting("epsilon", "layer_norm_eps", 1e-12),
        dropouts("hidden_dropout_prob", "attention_probs_dropout_prob", default=0.1),
    )


TIED = setting("tied", "tie_word_embeddings", True)

DEMANDS = (
    Demand("is_decoder", (False,)),
    Demand("add_cross_attention", (False,)),
    Demand("position_embedding_type", ("absolute",), older=True),
    PLAIN_NUMBERS,
)

FIXED: Mapping[str, tuple[Any, ...]] = {
    "kind": ("encoder",),
    "position": ("learned",),
    "connection": ("post-norm",),
    "embedding_norm": (True,),
    "bias": (True,),
}
MASKED_TOKEN: Mapping[str, tuple[Any, ...]] = {"head.kind": ("masked-token", ""), "head.bias": (True,)}
POOLED: Mapping[str, tuple[Any, ...]] = {"head.kind": ("pooled",)}

# Which tokens become one vector is left to whoever uses the file, and there is no output matrix to tie.
POOLED_UNUSED = frozenset({"tied", "head.pooling"})
# Tables of positions and segments; the layer that makes one vector of a text's first token, and the guess at whether a
# sentence follows another, for which there is nothing here.
IGNORED = ("*position_ids", "*token_type_ids", "*pooler.dense.*", "cls.seq_relationship.*")
# What the first files of BERT called a norm's gain and bias.
RENAMED = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}

BERT_FOR_MASKED_TOKENS = Architecture(
    names=("BertForMaskedLM",),
    model_type="bert",
    # The head uses the activation too, and ours has one for it.
    settings=(*settings({"gelu": "gelu-exact", "gelu_python": "gelu-exact"}), TIED),
    demands=DEMANDS,
    fixed={**FIXED, **MASKED_TOKEN},
    zeros={"bias": True, "segments": 1, "head.bias": True},
    weights=weights,
    same=same,
    ignored=IGNORED,
    prefix="bert.",
    renamed=RENAMED,
)

BERT = Architecture(
    names=("BertModel",),
    model_type="bert",
    settings=settings(ACTIVATIONS),
    demands=DEMANDS,
    fixed={**FIXED, **POOLED},
    zeros={"bias": True, "segments": 1},
    unused=POOLED_UNUSED,
    weights=weights,
    ignored=IGNORED,
    prefix="bert.",
    renamed=RENAMED,
)
