"""RoBERTa: BERT trained longer (Liu et al., RoBERTa, 2019), with and without its masked-token head.

Its position table starts with two unused rows: the first text position is row 2. RoBERTa recognises padding by token id 1
and gives that token no position wherever it occurs, so a text must not contain it.
"""

from glasshouse.interop.architectures import bert
from glasshouse.interop.architectures.base import Architecture, SharedTensor
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, ConfigConstraint
from glasshouse.interop.architectures.layer_mappings import weight_and_bias
from glasshouse.interop.weight_mapping import WeightMapping, one_to_one, skip_rows
from glasshouse.specs.spec import ModelSpec

VOCABULARY = 50265
POSITION_OFFSET = 2
CONFIG_CONSTRAINTS = (*bert.CONFIG_CONSTRAINTS, ConfigConstraint("pad_token_id", (POSITION_OFFSET - 1,)))
ROUND_TRIP_ONLY = "RoBERTa reads token 1 as padding, but in a run that was not imported from RoBERTa it may be a word"


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    """A model without a head has names without the prefix."""
    if model.head.kind == "pooled":
        return bert.encoder_mappings(model, "", skip_rows(POSITION_OFFSET))
    return [
        *bert.encoder_mappings(model, "roberta.", skip_rows(POSITION_OFFSET)),
        *weight_and_bias("head.transform", "lm_head.dense"),
        *weight_and_bias("head.norm", "lm_head.layer_norm"),
        one_to_one("head.bias", "lm_head.bias" if model.tied else "lm_head.decoder.bias"),
        *([] if model.tied else [one_to_one("head.weight", "lm_head.decoder.weight")]),
    ]


def shared_tensors(model: ModelSpec) -> tuple[SharedTensor, ...]:
    return bert.shared_head_tensors(model, "lm_head.decoder", "lm_head.bias", "roberta.embeddings.word_embeddings.weight")


ROBERTA_FOR_MASKED_TOKENS = Architecture(
    names=("RobertaForMaskedLM",),
    model_type="roberta",
    # RoBERTa's head always uses the exact GELU, as ours does, so any `hidden_act` is supported.
    config_fields=(*bert.encoder_config(ACTIVATIONS, VOCABULARY, POSITION_OFFSET), bert.TIED),
    config_constraints=CONFIG_CONSTRAINTS,
    fixed_fields={**bert.ENCODER, **bert.MASKED_TOKEN_HEAD},
    zero_filled_fields={"bias": True, "segments": 1, "head.bias": True},
    weight_mappings=weight_mappings,
    shared_tensors=shared_tensors,
    ignored_tensors=bert.IGNORED_TENSORS,
    base_model_prefix="roberta.",
    legacy_suffixes=bert.LEGACY_SUFFIXES,
    round_trip_only=ROUND_TRIP_ONLY,
)

ROBERTA = Architecture(
    names=("RobertaModel",),
    model_type="roberta",
    config_fields=bert.encoder_config(ACTIVATIONS, VOCABULARY, POSITION_OFFSET),
    config_constraints=CONFIG_CONSTRAINTS,
    fixed_fields={**bert.ENCODER, **bert.POOLED_HEAD},
    zero_filled_fields={"bias": True, "segments": 1},
    unused_fields=bert.POOLED_UNUSED,
    weight_mappings=weight_mappings,
    ignored_tensors=bert.IGNORED_TENSORS,
    base_model_prefix="roberta.",
    legacy_suffixes=bert.LEGACY_SUFFIXES,
    round_trip_only=ROUND_TRIP_ONLY,
)
