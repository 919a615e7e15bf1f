"""BERT, an encoder trained to predict masked tokens (Devlin et al., BERT, 2019), with several heads; and RoBERTa.

BertForSequenceClassification has a layer with tanh, the pooler, between the first token's vector and the classifier. A small
number e makes it a layer that changes nothing: tanh(e x) / e is x to a relative error of (e x)^2 / 3. So a classifier of
ours without a hidden layer is exported exactly. A pooler that was trained has no counterpart here, so this class is not
imported.

RoBERTa (Liu et al., 2019) is a BERT that was trained longer. Its position table starts with two unused rows: the first text
position is row 2. It recognises padding by token id 1 and gives that token no position wherever it occurs, so a text must
not contain it.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch

from glasshouse.interop.architectures.base import Architecture, with_labels
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, ConfigField
from glasshouse.interop.weight_mapping import IDENTITY, Entry, Names, Tensors, Theirs, Transform, skip_rows, within
from glasshouse.specs.spec import ModelSpec

# Features are normalised, so they are of the size 1. float32 has the same relative precision for small numbers.
POOLER_SCALE = 2.0**-13
ROBERTA_OFFSET = 2


def encoder(prefix: str, positions: Transform = IDENTITY) -> dict[str, Entry]:
    """The weights of an encoder without a head. `positions` transforms the position table."""
    layer: Names = {
        "attention.projection": ("attention.self.query", "attention.self.key", "attention.self.value"),
        "attention.output": "attention.output.dense",
        "attention_connection.norm": "attention.output.LayerNorm",
        "feed_forward.up": "intermediate.dense",
        "feed_forward.down": "output.dense",
        "feed_forward_connection.norm": "output.LayerNorm",
    }
    return {
        "embedding": f"{prefix}embeddings.word_embeddings",
        "position.table": Theirs(f"{prefix}embeddings.position_embeddings", positions),
        "segments": f"{prefix}embeddings.token_type_embeddings",
        "embedding_norm": f"{prefix}embeddings.LayerNorm",
        **within("blocks.{}.", f"{prefix}encoder.layer.{{}}.", layer),
    }


def encoder_config(
    activations: Mapping[str, str], vocabulary: int = 30522, position_offset: int = 0
) -> tuple[ConfigField, ...]:
    """The config fields of an encoder. `position_offset` counts the first rows of its position table that are not used."""
    return (
        ConfigField("vocabulary", "vocab_size", vocabulary),
        ConfigField("context", "max_position_embeddings", 512, offset=position_offset),
        ConfigField("width", "hidden_size", 768),
        ConfigField("layers", "num_hidden_layers", 12),
        ConfigField("heads", "num_attention_heads", 12),
        ConfigField("feed_forward", "intermediate_size", 3072),
        ConfigField("activation", "hidden_act", "gelu", value_names=activations),
        ConfigField("segments", "type_vocab_size", 2),
        ConfigField("epsilon", "layer_norm_eps", 1e-12),
        ConfigField("dropout", ("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.1, value_if_unequal=0.0),
    )


FIXED_FIELDS = {
    "kind": ("encoder",),
    "position": ("learned",),
    "connection": ("post-norm",),
    "embedding_norm": (True,),
    "bias": (True,),
}

BERT = Architecture(
    names=("BertModel",),
    model_type="bert",
    config_fields=encoder_config(ACTIVATIONS),
    config_values={"is_decoder": (False,), "add_cross_attention": (False,)},
    legacy_config_values={"position_embedding_type": ("absolute",)},
    fixed_fields={**FIXED_FIELDS, "head.kind": ("pooled",)},
    zero_filled_fields={"bias": True, "segments": 1},
    # The file does not say how token vectors are pooled, and a pooled head has no output matrix to tie.
    unused_fields=frozenset({"tied", "head.pooling"}),
    weights=encoder(""),
    # Position and segment indices are precomputed. Glasshouse has no counterpart of the pooler (a layer on the first token's
    # vector) and of the head for next-sentence prediction.
    ignored_tensors=("*position_ids", "*token_type_ids", "*pooler.dense.*", "cls.seq_relationship.*"),
    base_model_prefix="bert.",
    # The first BERT files name the weight and the bias of a norm after TensorFlow's variables.
    legacy_suffixes={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
)


def with_masked_tokens(
    table: Architecture, config_fields: tuple[ConfigField, ...], weights: Names, name: str, decoder: str, bias: str
) -> Architecture:
    """An encoder with the head for masked tokens.

    The head has an output matrix and two biases, which are one tensor if the matrix is tied to the embedding. Otherwise only
    the bias of `decoder` is used.
    """
    embedding = f"{table.base_model_prefix}embeddings.word_embeddings.weight"
    return replace(
        table,
        names=(name,),
        config_fields=(*config_fields, ConfigField("tied", "tie_word_embeddings", True)),
        fixed_fields={**FIXED_FIELDS, "head.kind": ("masked-token", ""), "head.bias": (True,)},
        zero_filled_fields={**table.zero_filled_fields, "head.bias": True},
        unused_fields=frozenset(),
        weights={**weights, "head": decoder},
        tied_weights={"head.bias": bias},
        tied_tensors={f"{decoder}.bias": bias, f"{decoder}.weight": embedding},
        fallback_tensors={bias: f"{decoder}.bias"},
    )


BERT_FOR_MASKED_TOKENS = with_masked_tokens(
    BERT,
    # BERT applies `hidden_act` in its head too; our masked-token head always uses the exact GELU.
    encoder_config({"gelu": "gelu-exact", "gelu_python": "gelu-exact"}),
    {
        **encoder("bert."),
        "head.transform": "cls.predictions.transform.dense",
        "head.norm": "cls.predictions.transform.LayerNorm",
    },
    "BertForMaskedLM",
    "cls.predictions.decoder",
    "cls.predictions.bias",
)


def identity_pooler(model: ModelSpec) -> Tensors:
    """The pooler that hands the first token's vector on."""
    return {
        "bert.pooler.dense.weight": POOLER_SCALE * torch.eye(model.width),
        "bert.pooler.dense.bias": torch.zeros(model.width),
    }


BERT_WITH_HEAD = replace(BERT, weights=encoder("bert."))
BERT_FOR_CLASSES = replace(
    with_labels(
        BERT_WITH_HEAD,
        "BertForSequenceClassification",
        Theirs("classifier", Transform(lambda tensor, _: tensor * POOLER_SCALE, lambda tensor, _: tensor / POOLER_SCALE)),
        head={"head.kind": ("classifier",), "head.pooling": ("first",)},
    ),
    constant_tensors=identity_pooler,
    export_only=True,
)
BERT_FOR_TAGS = with_labels(
    BERT_WITH_HEAD, "BertForTokenClassification", "classifier", "head.tags", {"head.kind": ("tagger",)}
)

ROBERTA = replace(
    BERT,
    names=("RobertaModel",),
    model_type="roberta",
    config_fields=encoder_config(ACTIVATIONS, 50265, ROBERTA_OFFSET),
    config_values={**BERT.config_values, "pad_token_id": (ROBERTA_OFFSET - 1,)},
    weights=encoder("", skip_rows(ROBERTA_OFFSET)),
    base_model_prefix="roberta.",
    round_trip_only="RoBERTa reads token 1 as padding, but in a run that was not imported from RoBERTa it may be a word",
)

ROBERTA_FOR_MASKED_TOKENS = with_masked_tokens(
    ROBERTA,
    # RoBERTa's head always uses the exact GELU, as ours does, so any `hidden_act` is supported.
    ROBERTA.config_fields,
    {**encoder("roberta.", skip_rows(ROBERTA_OFFSET)), "head.transform": "lm_head.dense", "head.norm": "lm_head.layer_norm"},
    "RobertaForMaskedLM",
    "lm_head.decoder",
    "lm_head.bias",
)
