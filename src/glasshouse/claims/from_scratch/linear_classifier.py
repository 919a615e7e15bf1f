"""Trivial opponents of a text classifier: the commonest class, and a linear model over words and word pairs.

Each answers every test text. The result says for each text whether the answer is correct.
"""

from collections import Counter
from collections.abc import Sequence

Labelled = Sequence[tuple[str, str]]  # (text, label)


def commonest_class(training: Labelled, test: Labelled) -> list[float]:
    """1 for each test text that has the commonest label of the training texts, otherwise 0."""
    [(commonest, _)] = Counter(label for _, label in training).most_common(1)
    return [float(label == commonest) for _, label in test]


def word_pairs(training: Labelled, test: Labelled) -> list[float]:
    """1 for each test text that logistic regression over counts of words and word pairs labels correctly, otherwise 0.

    Its settings are the defaults of scikit-learn. Nothing is chosen.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
    model.fit([text for text, _ in training], [label for _, label in training])
    answers = model.predict([text for text, _ in test])
    return [float(answer == label) for answer, (_, label) in zip(answers, test, strict=True)]
