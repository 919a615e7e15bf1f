"""The n-gram model and the compressors."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from glasshouse import formatting
from glasshouse.baselines import language_models
from glasshouse.baselines.baseline import BaselineData
from glasshouse.baselines.language_models import NGramModel
from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.data.prepared_data import PreparedData
from glasshouse.tokenizers.words import Characters

TEXTS = {"train": "abcabd" * 60, "validation": "abcabd" * 9, "test": "abcabdab" * 30}


@pytest.fixture
def data(tmp_path: Path) -> BaselineData:
    tokenizer = Characters.train(["abcd"], 260)
    splits = {split: shards.write(tmp_path, split, [Document(text)], tokenizer) for split, text in TEXTS.items()}
    return BaselineData(PreparedData(tokenizer, splits, "print"), lambda split: iter([]), "test")


def test_a_text_of_period_six_needs_three_tokens_and_not_two(data: BaselineData) -> None:
    baseline = language_models.best_ngram_model(data)
    assert baseline.settings["order"] >= 3
    assert baseline.title == formatting.with_article(f"{baseline.settings['order']}-gram model (Kneser-Ney)")
    shard = data.prepared.splits["test"]
    assert baseline.metrics["perplexity"] == pytest.approx(np.exp(baseline.metrics["loss"]))
    scored = shard.tokens_count - 2  # the first token and the separator at the end
    expected = baseline.metrics["loss"] * scored / np.log(2) / len(TEXTS["test"])
    assert baseline.metrics["bits_per_byte"] == pytest.approx(expected)


def test_the_means_of_the_values_are_the_metrics(data: BaselineData) -> None:
    baseline = language_models.best_ngram_model(data)
    for name in ("loss", "bits_per_byte"):
        assert np.mean(baseline.values[name]) == pytest.approx(baseline.metrics[name])


def test_without_validation_the_order_is_the_default(data: BaselineData) -> None:
    baseline = language_models.best_ngram_model(BaselineData(data.prepared, data.documents, "test", ""))
    assert baseline.settings == {"order": language_models.DEFAULT_ORDER}
    shard = data.prepared.splits["test"]
    training = np.asarray(data.prepared.splits["train"].tokens, np.int64)
    model = NGramModel(training, data.prepared.tokenizer.vocabulary, language_models.DEFAULT_ORDER)
    scores = language_models.token_scores(model, np.asarray(shard.tokens, np.int64), shard)
    assert baseline.metrics["loss"] == pytest.approx(scores.losses.sum() / scores.count)


def test_limits_are_said(data: BaselineData, monkeypatch: pytest.MonkeyPatch) -> None:
    total = data.prepared.splits["train"].tokens_count
    monkeypatch.setattr(language_models, "MOST_TRAINING_TOKENS", 50)
    short = language_models.best_ngram_model(data)
    assert short.note == f"trained on the last 50 of {total:,} tokens"
    monkeypatch.setattr(language_models, "MOST_HELD_OUT_TOKENS", 10)
    none = language_models.best_ngram_model(data)
    assert none.metrics == {}
    assert "not computed" in none.note


WORDS = "".join(random.Random(0).choices("abcdefghijklmnop ", k=20_000))


def text_data(**texts: str) -> BaselineData:
    def documents(split: str) -> Iterator[Document]:
        yield Document(texts[split][:7])
        yield Document(texts[split][7:], continues=True)

    return BaselineData(None, documents, "test")


def test_text_that_was_seen_in_training_costs_less_than_new_text() -> None:
    [seen] = language_models.compressor(text_data(train=WORDS, test=WORDS[5000:9000]))
    [new] = language_models.compressor(text_data(train=WORDS[:10_000], test=WORDS[15_000:19_000]))
    assert seen.name == "xz"
    assert seen.metrics["bits_per_byte"] < 0.3
    assert 4 < new.metrics["bits_per_byte"] < 5.5
    assert new.note == ""


def test_limits_are_kept_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_models, "MOST_TRAINING_BYTES", 100)
    assert language_models.last_bytes(["abc", "def", "gh"], 5) == b"defgh"
    assert language_models.first_bytes(["abc", "def", "gh"], 4) == (b"abcd", 8)
    assert (
        language_models.last_bytes(iter([WORDS[i : i + 10] for i in range(0, 5000, 10)]), 100) == WORDS[4900:5000].encode()
    )


def test_no_held_out_text_gives_no_baseline() -> None:
    assert list(language_models.compressor(text_data(train=WORDS, test=""))) == []


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_probabilities_of_all_tokens_sum_to_one(order):
    generator = np.random.default_rng(order)
    model = NGramModel(generator.integers(0, 5, 400) * generator.integers(0, 2, 400), 7, order)
    for context in ([0, 0], [3, 1], [6, 6]):  # 6 is in the vocabulary but not in the learned text
        texts = [np.array([*context, token]) for token in range(7)]
        assert sum(math.exp(-model.nats(text)[-1]) for text in texts) == pytest.approx(1)


def test_longer_ngrams_learn_a_pattern_that_shorter_ones_cannot():
    text = np.tile([1, 2, 1, 3], 100)  # the token after 1 depends on the token before it
    means = {order: NGramModel(text, 5, order).nats(text).mean() for order in (1, 2, 3)}
    assert means[3] < 0.1 < means[2] < means[1]


def test_samples_have_the_probabilities_of_the_model():
    generator = np.random.default_rng(0)
    model = NGramModel(generator.integers(0, 4, 60), 5, 3)
    for prompt in ([1, 2], [4, 4]):  # the second context does not occur
        drawn = [model.sample(prompt, 1, generator)[0] for _ in range(4000)]
        probabilities = np.exp([-model.nats(np.array([*prompt, token]))[-1] for token in range(5)])
        shares = np.bincount(drawn, minlength=5) / len(drawn)
        assert np.abs(shares - probabilities).max() < 0.04  # five standard errors


def test_the_end_token_ends_a_sample():
    model = NGramModel(np.tile([1, 2, 3], 50), 5, 3)
    generator = np.random.default_rng(0)
    samples = [model.sample([1, 2], 30, generator, end_token=3) for _ in range(20)]
    assert not any(3 in sample for sample in samples)
    assert [] in samples
    assert all(len(model.sample([1, 2], 30, generator)) == 30 for _ in range(5))


def test_ngrams_that_cannot_be_numbered_are_refused():
    with pytest.raises(ValueError, match="64 bits"):
        NGramModel(np.array([1, 2, 3]), 2**16, 4)
