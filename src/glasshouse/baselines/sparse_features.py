"""Sparse features of texts for linear baselines: counts of words, TF-IDF of words and pairs, TF-IDF of character n-grams.

scikit-learn is imported when features are made, because that takes a second.
"""

from collections.abc import Callable, Sequence
from typing import Any

MOST_FEATURES = 200_000
# A word may be a single letter; scikit-learn's own pattern leaves those out.
WORD = r"(?u)\b\w+\b"


class SparseFeatures:
    """Features that are fitted to the training texts. The last features of other texts are kept for the next strength."""

    def __init__(self, vectorizer: Any, training: Sequence[str]) -> None:
        self.vectorizer = vectorizer
        self.training = vectorizer.fit_transform(training)
        self._last: tuple[Sequence[str], Any] | None = None

    def of(self, texts: Sequence[str]) -> Any:
        """The features of other texts, one row each."""
        if self._last is None or self._last[0] is not texts:
            self._last = texts, self.vectorizer.transform(texts)
        return self._last[1]


Featurise = Callable[[Sequence[str]], SparseFeatures]


def word_counts(training: Sequence[str]) -> SparseFeatures:
    """How often each word occurs."""
    from sklearn.feature_extraction.text import CountVectorizer

    return SparseFeatures(CountVectorizer(token_pattern=WORD, max_features=MOST_FEATURES), training)


def words_and_pairs(training: Sequence[str]) -> SparseFeatures:
    """TF-IDF of words and of pairs of neighbouring words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    options: dict[str, Any] = {"sublinear_tf": True, "max_features": MOST_FEATURES}
    return SparseFeatures(TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2), **options), training)


def characters(training: Sequence[str]) -> SparseFeatures:
    """TF-IDF of two to five neighbouring characters within words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    options: dict[str, Any] = {"sublinear_tf": True, "max_features": MOST_FEATURES}
    return SparseFeatures(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **options), training)
