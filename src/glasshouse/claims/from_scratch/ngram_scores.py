"""Scores of n-gram models on the data of a run: the trivial opponent of a language model, over the same tokens."""

import numpy as np

from glasshouse.baselines.language_models import NGramModel
from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import bits_per_byte, perplexity
from glasshouse.runs.run import Run

NAMES = {1: "unigram", 2: "bigram", 3: "trigram"}
TRIGRAM = 3


def fit(run: Run, order: int) -> NGramModel:
    """A model of the run's training text."""
    training = prepared_data.prepare(run.spec.data, run.tokenizer).splits["train"]
    return NGramModel(np.asarray(training.tokens, np.int64), run.tokenizer.vocabulary, order)


def score_split(model: NGramModel, shard: Shard) -> dict[str, float]:
    """The metrics of a model on a split. As for a trained model, separator tokens are not scored."""
    text = np.asarray(shard.tokens, np.int64)
    scored = model.nats(text)[~np.isin(text[1:], list(shard.separators))]
    loss = float(scored.mean())
    return {"loss": loss, "perplexity": perplexity(loss), "bits_per_byte": bits_per_byte(float(scored.sum()), shard.bytes)}


def score_splits(run: Run, *splits: str, order: int = TRIGRAM) -> dict[str, dict[str, float]]:
    """Split -> metrics of a model of the run's training text."""
    model = fit(run, order)
    prepared = prepared_data.prepare(run.spec.data, run.tokenizer)
    return {split: score_split(model, prepared.splits[split]) for split in splits}
