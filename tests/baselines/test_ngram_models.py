"""The n-gram baseline: the order of the validation split, the run's own tokens, and separators that are not scored."""

from pathlib import Path

import numpy as np
import pytest

from glasshouse import formatting
from glasshouse.baselines import ngram_models
from glasshouse.baselines.baseline import BaselineData
from glasshouse.baselines.kneser_ney import NGramModel
from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.data.prepared_data import PreparedData
from glasshouse.tokenizers.characters import Characters

TEXTS = {"train": "abcabd" * 60, "validation": "abcabd" * 9, "test": "abcabdab" * 30}


@pytest.fixture
def data(tmp_path: Path) -> BaselineData:
    tokenizer = Characters.train(["abcd"], 260)
    splits = {split: shards.write(tmp_path, split, [Document(text)], tokenizer) for split, text in TEXTS.items()}
    return BaselineData(PreparedData(tokenizer, splits, "print"), lambda split: iter([]), "test")


def test_a_text_of_period_six_needs_three_tokens_and_not_two(data: BaselineData) -> None:
    [baseline] = ngram_models.best_ngram_model(data)
    assert baseline.settings["order"] >= 3
    assert baseline.title == formatting.with_article(f"{baseline.settings['order']}-gram model (Kneser-Ney)")
    shard = data.prepared.splits["test"]
    assert baseline.metrics["perplexity"] == pytest.approx(np.exp(baseline.metrics["loss"]))
    scored = shard.tokens_count - 2  # the first token and the separator at the end
    expected = baseline.metrics["loss"] * scored / np.log(2) / len(TEXTS["test"])
    assert baseline.metrics["bits_per_byte"] == pytest.approx(expected)


def test_the_means_of_the_values_are_the_metrics(data: BaselineData) -> None:
    [baseline] = ngram_models.best_ngram_model(data)
    for name in ("loss", "bits_per_byte"):
        assert baseline.values[name].mean() == pytest.approx(baseline.metrics[name])


def test_without_validation_the_order_is_the_default(data: BaselineData) -> None:
    [baseline] = ngram_models.best_ngram_model(BaselineData(data.prepared, data.documents, "test", ""))
    assert baseline.settings == {"order": ngram_models.DEFAULT_ORDER}
    shard = data.prepared.splits["test"]
    training = np.asarray(data.prepared.splits["train"].tokens, np.int64)
    model = NGramModel(training, data.prepared.tokenizer.vocabulary, ngram_models.DEFAULT_ORDER)
    losses, count = ngram_models.token_losses(model, np.asarray(shard.tokens, np.int64), shard)
    assert baseline.metrics["loss"] == pytest.approx(losses.sum() / count)


def test_limits_are_said(data: BaselineData, monkeypatch: pytest.MonkeyPatch) -> None:
    total = data.prepared.splits["train"].tokens_count
    monkeypatch.setattr(ngram_models, "MOST_TRAINING_TOKENS", 50)
    [short] = ngram_models.best_ngram_model(data)
    assert short.note == f"trained on the last 50 of {total:,} tokens"
    monkeypatch.setattr(ngram_models, "MOST_HELD_OUT_TOKENS", 10)
    [none] = ngram_models.best_ngram_model(data)
    assert none.metrics == {}
    assert "not computed" in none.note
