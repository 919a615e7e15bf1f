"""Sparse features: pairs and single letters count, the number is limited, and equal texts are transformed once."""

import pytest

from glasshouse.baselines import sparse_features


def test_words_may_be_single_letters_and_pairs_are_features() -> None:
    features = sparse_features.words_and_pairs(["a cat", "a dog"])
    assert set(features.vectorizer.get_feature_names_out()) == {"a", "cat", "dog", "a cat", "a dog"}


def test_the_number_of_features_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_features, "MOST_FEATURES", 3)
    for featurise in (sparse_features.word_counts, sparse_features.words_and_pairs, sparse_features.characters):
        assert featurise(["one two three four", "five six"]).training.shape == (2, 3)


def test_the_last_texts_are_transformed_once() -> None:
    features, texts = sparse_features.word_counts(["one two"]), ["two"]
    assert features.of(texts) is features.of(texts)
    assert features.of(["one"]).toarray().tolist() == [[1, 0]]
