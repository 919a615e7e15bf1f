"""DistilBERT with a classifier: a BERT without segments (Sanh et al., DistilBERT, 2019).

Its head is one hidden layer with ReLU, as wide as the model, on the vector of the first token. This is our classifier head
with `pooling=first` and `hidden` equal to the width. The epsilon of its norms is fixed. With one class it is a regressor,
whose numbers an export writes in the unit of the data.
"""

from dataclasses import replace

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, ConfigField
from glasshouse.interop.weight_mapping import Names, Theirs, Transform, within
from glasshouse.specs.spec import ModelSpec

LAYER: Names = {
    "attention.projection": ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    "attention.output": "attention.out_lin",
    "attention_connection.norm": "sa_layer_norm",
    "feed_forward.up": "ffn.lin1",
    "feed_forward.down": "ffn.lin2",
    "feed_forward_connection.norm": "output_layer_norm",
}

DISTILBERT_FOR_CLASSES = Architecture(
    names=("DistilBertForSequenceClassification",),
    model_type="distilbert",
    config_fields=(
        ConfigField("vocabulary", "vocab_size", 30522),
        ConfigField("context", "max_position_embeddings", 512),
        ConfigField("width", "dim", 768),
        ConfigField("head.hidden", "dim", 768),
        ConfigField("layers", "n_layers", 6),
        ConfigField("heads", "n_heads", 12),
        ConfigField("feed_forward", "hidden_dim", 3072),
        ConfigField("activation", "activation", "gelu", value_names=ACTIVATIONS),
        ConfigField("dropout", ("dropout", "attention_dropout"), 0.1, value_if_unequal=0.0),
        ConfigField("head.classes", "num_labels", 2),
    ),
    fixed_fields={
        "kind": ("encoder",),
        "position": ("learned",),
        "connection": ("post-norm",),
        "embedding_norm": (True,),
        "bias": (True,),
        "epsilon": (1e-12,),
        "head.pooling": ("first",),
        "head.kind": ("classifier",),
    },
    zero_filled_fields={"bias": True},
    # A classifier has no output matrix to tie.
    unused_fields=frozenset({"tied"}),
    weights={
        "embedding": "distilbert.embeddings.word_embeddings",
        "position.table": "distilbert.embeddings.position_embeddings",
        "embedding_norm": "distilbert.embeddings.LayerNorm",
        **within("blocks.{}.", "distilbert.transformer.layer.{}.", LAYER),
        "head.hidden": "pre_classifier",
        "head.answer": "classifier",
    },
    ignored_tensors=("*position_ids",),
    base_model_prefix="distilbert.",
)


def unit(model: ModelSpec) -> tuple[float, float]:
    """The mean and the deviation of the data; the numbers of a regressor are standardised."""
    return model.head.own.get("mean", 0.0), model.head.own.get("deviation", 0.0) or 1.0


DISTILBERT_FOR_VALUES = replace(
    DISTILBERT_FOR_CLASSES,
    config_fields=DISTILBERT_FOR_CLASSES.config_fields[:-1],
    config_values={"num_labels": (1,), "problem_type": ("regression",)},
    fixed_fields={**DISTILBERT_FOR_CLASSES.fixed_fields, "head.kind": ("regressor",)},
    # The mean and the deviation are in the weights.
    unused_fields=frozenset({"tied", "head.mean", "head.deviation"}),
    weights={
        **DISTILBERT_FOR_CLASSES.weights,
        "head.answer": Theirs(
            "classifier",
            Transform(lambda tensor, model: tensor / unit(model)[1], lambda tensor, model: tensor * unit(model)[1]),
            Transform(
                lambda tensor, model: (tensor - unit(model)[0]) / unit(model)[1],
                lambda tensor, model: tensor * unit(model)[1] + unit(model)[0],
            ),
        ),
    },
    export_only=True,
)
