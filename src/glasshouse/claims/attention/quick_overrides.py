"""Overrides that make a study of language models quick: two steps of a one-layer model on a short generated text."""

from glasshouse.claims import split_scores

QUICK = (
    *split_scores.QUICK,
    "data.source=arithmetic-text",
    "data.tokenizer=words",
    "data.vocabulary=64",
    "data.context=16",
    "evaluation.stride=16",
    "training.steps=2",
    "evaluation.every=2",
)
