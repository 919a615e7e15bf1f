"""BERT with a head for classes: one for each text, or one for each token.

BertForSequenceClassification has a layer with tanh, the pooler, between the first token's vector and the classifier. A small
number e makes it a layer that changes nothing: tanh(e x) / e is x to a relative error of (e x)^2 / 3. So a classifier of
ours without a hidden layer is exported exactly. A pooler that was trained has no counterpart here, so this class is not
imported.
"""

import torch

from glasshouse.interop.architectures import bert
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, config_field
from glasshouse.interop.architectures.distilbert import with_class_count
from glasshouse.interop.architectures.layer_mappings import weight_and_bias
from glasshouse.interop.weight_mapping import Tensors, Transform, WeightMapping, one_to_one
from glasshouse.specs.spec import ModelSpec

# Features are normalised, so they are of the size 1. float32 has the same relative precision for small numbers.
POOLER_SCALE = 2.0**-13
RESCALED = Transform(lambda tensor: tensor * POOLER_SCALE, lambda tensor: tensor / POOLER_SCALE)


def class_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [
        *bert.encoder_mappings(model, "bert."),
        one_to_one("head.answer.weight", "classifier.weight", RESCALED),
        one_to_one("head.answer.bias", "classifier.bias"),
    ]


def pooler(model: ModelSpec) -> Tensors:
    """The pooler that hands the first token's vector on."""
    return {
        "bert.pooler.dense.weight": POOLER_SCALE * torch.eye(model.width),
        "bert.pooler.dense.bias": torch.zeros(model.width),
    }


def tag_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [*bert.encoder_mappings(model, "bert."), *weight_and_bias("head.answer", "classifier")]


BERT_FOR_CLASSES = Architecture(
    names=("BertForSequenceClassification",),
    model_type="bert",
    config_fields=(*bert.encoder_config(ACTIVATIONS), config_field("head.classes", "num_labels", 2)),
    config_constraints=bert.CONFIG_CONSTRAINTS,
    fixed_fields={**bert.ENCODER, "head.kind": ("classifier",), "head.pooling": ("first",)},
    zero_filled_fields={"bias": True, "segments": 1},
    # A classifier has no output matrix to tie.
    unused_fields=frozenset({"tied"}),
    weight_mappings=class_mappings,
    constant_tensors=pooler,
    base_model_prefix="bert.",
    export_only=True,
)

BERT_FOR_TAGS = Architecture(
    names=("BertForTokenClassification",),
    model_type="bert",
    config_fields=(*bert.encoder_config(ACTIVATIONS), config_field("head.tags", "num_labels", 2)),
    config_constraints=bert.CONFIG_CONSTRAINTS,
    fixed_fields={**bert.ENCODER, "head.kind": ("tagger",)},
    zero_filled_fields={"bias": True, "segments": 1},
    unused_fields=frozenset({"tied"}),
    weight_mappings=tag_mappings,
    ignored_tensors=bert.IGNORED_TENSORS,
    base_model_prefix="bert.",
    legacy_suffixes=bert.LEGACY_SUFFIXES,
    upgrade_config=with_class_count,
)
