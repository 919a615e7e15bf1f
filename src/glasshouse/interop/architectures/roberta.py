"""RoBERTa: BERT trained longer (Liu et al., RoBERTa, 2019), with its head for hidden tokens and without a head.

It counts positions from two on, because the first two rows of its table stand for padding, and it tells padding by token 1:
wherever that token stands, a text has no position. So a text must not hold it.
"""

from glasshouse.interop.architectures import bert
from glasshouse.interop.architectures.base import Architecture, Same
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, Demand
from glasshouse.interop.architectures.weight_rows import pair
from glasshouse.interop.weight_tables import WeightRow, row, skipping
from glasshouse.specs.spec import ModelSpec

OFFSET = 2
DEMANDS = (*bert.DEMANDS, Demand("pad_token_id", (OFFSET - 1,)))
RETURNING = "it takes token 1 for padding, which may be a word in a run that did not come from it"


def weights(model: ModelSpec) -> list[WeightRow]:
    """Without a head the names have no prefix."""
    if model.head.kind == "pooled":
        return bert.encoder(model, "", skipping(OFFSET))
    return [
        *bert.encoder(model, "roberta.", skipping(OFFSET)),
        *pair("head.transform", "lm_head.dense"),
        *pair("head.norm", "lm_head.layer_norm"),
        row("head.bias", "lm_head.bias" if model.tied else "lm_head.decoder.bias"),
        *([] if model.tied else [row("head.weight", "lm_head.decoder.weight")]),
    ]


def same(model: ModelSpec) -> tuple[Same, ...]:
    return bert.head_names(model, "lm_head.decoder", "lm_head.bias", "roberta.embeddings.word_embeddings.weight")


ROBERTA_FOR_MASKED_TOKENS = Architecture(
    names=("RobertaForMaskedLM",),
    model_type="roberta",
    # The head has an activation of its own, which is ours.
    settings=(*bert.settings(ACTIVATIONS, 50265, OFFSET), bert.TIED),
    demands=DEMANDS,
    fixed={**bert.FIXED, **bert.MASKED_TOKEN},
    zeros={"bias": True, "segments": 1, "head.bias": True},
    weights=weights,
    same=same,
    ignored=bert.IGNORED,
    prefix="roberta.",
    renamed=bert.RENAMED,
    returning=RETURNING,
)

ROBERTA = Architecture(
    names=("RobertaModel",),
    model_type="roberta",
    settings=bert.settings(ACTIVATIONS, 50265, OFFSET),
    demands=DEMANDS,
    fixed={**bert.FIXED, **bert.POOLED},
    zeros={"bias": True, "segments": 1},
    unused=bert.POOLED_UNUSED,
    weights=weights,
    ignored=bert.IGNORED,
    prefix="roberta.",
    renamed=bert.RENAMED,
    returning=RETURNING,
)
