"""GPT-2 and Llama with a classifier: a linear layer without a bias on the vector of the last token.

`transformers` finds the last token of a padded text by the id of the padding, `pad_token_id`.
"""

from collections.abc import Mapping
from typing import Any

from glasshouse.interop.architectures import gpt2, llama
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import config_field
from glasshouse.interop.architectures.distilbert import with_class_count
from glasshouse.interop.architectures.gpt2 import GPT2
from glasshouse.interop.architectures.llama import LLAMA
from glasshouse.interop.weight_mapping import WeightMapping, one_to_one
from glasshouse.specs.spec import ModelSpec

LAST_TOKEN_HEAD: Mapping[str, tuple[Any, ...]] = {
    "head.kind": ("classifier",),
    "head.pooling": ("last",),
    "head.answer_bias": (False,),
}
CLASSES = config_field("head.classes", "num_labels", 2)
SCORE = one_to_one("head.answer.weight", "score.weight")


def gpt2_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [*gpt2.decoder_mappings(model), SCORE]


def llama_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [*llama.decoder_mappings(model), SCORE]


GPT2_FOR_CLASSES = Architecture(
    names=("GPT2ForSequenceClassification",),
    model_type="gpt2",
    config_fields=(*gpt2.DECODER_CONFIG, CLASSES),
    config_constraints=gpt2.CONFIG_CONSTRAINTS,
    fixed_fields={**gpt2.DECODER, **LAST_TOKEN_HEAD},
    zero_filled_fields=GPT2.zero_filled_fields,
    # A classifier has no output matrix to tie.
    unused_fields=frozenset({"tied"}),
    weight_mappings=gpt2_mappings,
    ignored_tensors=gpt2.IGNORED_TENSORS,
    base_model_prefix=GPT2.base_model_prefix,
    upgrade_config=with_class_count,
)

LLAMA_FOR_CLASSES = Architecture(
    names=("LlamaForSequenceClassification",),
    model_type="llama",
    config_fields=(*llama.DECODER_CONFIG, CLASSES),
    config_constraints=llama.CONFIG_CONSTRAINTS,
    fixed_fields={**llama.DECODER, **LAST_TOKEN_HEAD},
    unused_fields=frozenset({"tied"}),
    weight_mappings=llama_mappings,
    ignored_tensors=llama.IGNORED_TENSORS,
    base_model_prefix=LLAMA.base_model_prefix,
    upgrade_config=lambda config: with_class_count(llama.upgrade_config(config)),
)
