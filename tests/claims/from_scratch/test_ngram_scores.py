"""Scores of n-gram models on a split: the metrics agree with each other, and separators are not scored."""

import math

import numpy as np
import pytest

from glasshouse.baselines.language_models import NGramModel
from glasshouse.claims.from_scratch import ngram_scores
from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.tokenizers.words import Words


def test_the_metrics_agree_and_separators_are_not_scored(tmp_path):
    tokenizer = Words.train(["one two three one two"], 16)
    documents = [Document("one two three"), Document("two one")]
    shard = shards.write(tmp_path, "test", iter(documents), tokenizer)
    tokens = np.asarray(shard.tokens, np.int64)
    model = NGramModel(tokens, tokenizer.vocabulary, 3)
    scores = ngram_scores.score_split(model, shard)
    words = [place for place in range(1, len(tokens)) if tokens[place] not in shard.separators]
    assert scores["loss"] == pytest.approx(np.mean([model.nats(tokens)[place - 1] for place in words]))
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["bits_per_byte"] == pytest.approx(scores["loss"] * len(words) / math.log(2) / shard.bytes)
    assert len(words) < len(tokens) - 1
