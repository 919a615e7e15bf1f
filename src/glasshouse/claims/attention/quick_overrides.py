"""Overrides that make a study of language models quick: two steps of a one-layer model on a few hundred generated words."""

from glasshouse.claims import split_scores

QUICK = (
    *split_scores.QUICK,
    "data.source=verbal-arithmetic",
    "data.tokenizer=words",
    "data.vocabulary=64",
    "data.context=16",
    "evaluation.stride=16",
    "training.steps=2",
    "evaluation.every=2",
)
