"""Linear baselines over sparse features of texts: of classification, of multi-label classification and of regression.

The labels of a text are one string, joined by `|`. scikit-learn is imported where it is needed, because that takes a second.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from glasshouse.baselines.field_baselines import Examples, Learn, Method, Predict, Values
from glasshouse.data.tables.class_labels import LABEL_SEPARATOR
from glasshouse.metrics import classification, regression
from glasshouse.metrics.metric import Metrics

STRENGTHS = (0.25, 1.0, 4.0, 16.0, 64.0)
MOST_ITERATIONS = 200
MOST_FEATURES = 200_000
# A word may be a single letter; scikit-learn's own pattern leaves those out.
WORD = r"(?u)\b\w+\b"


class SparseFeatures:
    """Features that are fitted to the training texts. Those of the last other texts are kept for the next strength."""

    def __init__(self, vectorizer: Any, training: Sequence[str]) -> None:
        self.vectorizer = vectorizer
        self.training = vectorizer.fit_transform(training)
        self._last: tuple[Sequence[str], Any] | None = None

    def of(self, texts: Sequence[str]) -> Any:
        if self._last is None or self._last[0] is not texts:
            self._last = texts, self.vectorizer.transform(texts)
        return self._last[1]


Featurise = Callable[[Sequence[str]], SparseFeatures]


def word_counts(training: Sequence[str]) -> SparseFeatures:
    from sklearn.feature_extraction.text import CountVectorizer

    return SparseFeatures(CountVectorizer(token_pattern=WORD, max_features=MOST_FEATURES), training)


def words_and_pairs(training: Sequence[str]) -> SparseFeatures:
    """TF-IDF of words and of pairs of neighbouring words."""
    return _tf_idf(training, token_pattern=WORD, ngram_range=(1, 2))


def characters(training: Sequence[str]) -> SparseFeatures:
    """TF-IDF of two to five neighbouring characters within words."""
    return _tf_idf(training, analyzer="char_wb", ngram_range=(2, 5))


def _tf_idf(training: Sequence[str], **options: Any) -> SparseFeatures:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return SparseFeatures(TfidfVectorizer(sublinear_tf=True, max_features=MOST_FEATURES, **options), training)


def commonest_class(training: Examples) -> Learn:
    """Every text has the commonest class of the training texts."""
    commonest = Counter(training.fields).most_common(1)[0][0]
    return lambda strength: lambda texts: [commonest] * len(texts)


def naive_bayes(training: Examples) -> Learn:
    from sklearn.naive_bayes import MultinomialNB

    return _classes(word_counts, lambda strength: MultinomialNB(alpha=strength), training)


def logistic_regression(featurise: Featurise) -> Callable[[Examples], Learn]:
    """Logistic regression over some features. The strength is scikit-learn's C, the inverse of the penalty."""

    def learn(training: Examples) -> Learn:
        from sklearn.multiclass import OneVsRestClassifier

        if len(set(training.fields)) <= 2:
            return _classes(featurise, binary_regression, training)
        # A regression for each class against the others takes a tenth of the time of a joint one.
        return _classes(featurise, lambda strength: OneVsRestClassifier(binary_regression(strength)), training)

    return learn


def binary_regression(strength: float) -> Any:
    """Logistic regression of two classes. The dual solver is fast for texts: many features, few of which are not zero."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, solver="liblinear", dual=True, max_iter=MOST_ITERATIONS, random_state=0)


def _classes(featurise: Featurise, model: Callable[[float], Any], training: Examples) -> Learn:
    if len(set(training.fields)) < 2:
        raise ValueError("the training texts have only one class")
    return _learned(featurise, model, training, training.fields, str)


def _learned(
    featurise: Featurise, model: Callable[[float], Any], training: Examples, targets: Any, write: Callable[[Any], str]
) -> Learn:
    """Fit a model of scikit-learn to the targets of the training texts, and write its answers as field strings."""
    features = featurise(training.texts)

    def fit(strength: float) -> Predict:
        fitted = model(strength).fit(features.training, targets)
        return lambda texts: [write(answer) for answer in fitted.predict(features.of(texts))]

    return fit


def score_classes(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], Values]:
    names = tuple(sorted({*truth, *predictions}))
    number = {name: index for index, name in enumerate(names)}
    true, predicted = (np.array([number[name] for name in side], np.int64) for side in (truth, predictions))
    metrics = Metrics([classification.ACCURACY, classification.MACRO_F1])
    return metrics.results(classification.PredictedClasses(names, true, predicted))


def one_versus_rest(training: Examples) -> Learn:
    """A logistic regression over words and pairs for each label. The strength is scikit-learn's C."""
    from sklearn.multiclass import OneVsRestClassifier

    names = sorted({name for field in training.fields for name in _labels(field)})
    return _learned(
        words_and_pairs,
        lambda strength: OneVsRestClassifier(binary_regression(strength)),
        training,
        membership(training.fields, names),
        lambda row: LABEL_SEPARATOR.join(compress(names, np.atleast_1d(row))),
    )


def score_label_sets(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], Values]:
    """Micro and macro F1 and the share of exact sets, and whether each set is exact. Macro F1 is over labels that occur."""
    names = tuple(sorted({name for field in (*truth, *predictions) for name in _labels(field)}))
    true, predicted = membership(truth, names), membership(predictions, names)
    counts, exact = classification.of_sets(true, predicted, names), (true == predicted).all(1).astype(float)
    metrics = {"micro_f1": float(counts.total().f1[0]), "macro_f1": counts.macro_f1(), "exact": float(exact.mean())}
    return metrics, {"exact": exact}


def membership(fields: Sequence[str], names: Sequence[str]) -> np.ndarray:
    number = {name: index for index, name in enumerate(names)}
    table = np.zeros((len(fields), len(names)), bool)
    for row, field in enumerate(fields):
        table[row, [number[name] for name in _labels(field)]] = True
    return table


def _labels(field: str) -> set[str]:
    return set(field.split(LABEL_SEPARATOR)) - {""}


def mean_value(training: Examples) -> Learn:
    mean = repr(float(np.mean(_numbers(training.fields))))
    return lambda strength: lambda texts: [mean] * len(texts)


def ridge_regression(training: Examples) -> Learn:
    """Ridge regression over words and pairs. The strength is scikit-learn's alpha, the penalty."""
    from sklearn.linear_model import Ridge

    def model(strength: float) -> Any:
        return Ridge(alpha=strength, solver="sparse_cg")

    return _learned(words_and_pairs, model, training, _numbers(training.fields), lambda value: repr(float(value)))


def score_values(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], Values]:
    metrics = Metrics([regression.RMSE, regression.MAE, regression.R2, regression.SPEARMAN])
    return metrics.results(regression.PredictedNumbers(_numbers(truth), _numbers(predictions)))


def _numbers(fields: Sequence[str]) -> np.ndarray:
    return np.array([float(field) for field in fields])


def logistic_method(
    name: str, title: str, learn: Callable[[Examples], Learn], first: int = 1, most_characters: float = 8e6
) -> Method:
    """A method with logistic regressions, whose time grows with the number of classes."""
    work = 10 * most_characters
    return Method(name, title, learn, STRENGTHS, first, most_characters=most_characters, most_work=work)


CLASSIFIERS = (
    Method("commonest-class", "the commonest class of the training texts", commonest_class),
    Method("naive-bayes", "naive Bayes over words", naive_bayes, (4.0, 1.0, 0.25, 0.0625), 1, "alpha"),
    logistic_method("words-and-pairs", "logistic regression over words and pairs", logistic_regression(words_and_pairs)),
    logistic_method(
        "characters", "logistic regression over characters", logistic_regression(characters), most_characters=2e6
    ),
)
MULTI_LABEL_CLASSIFIERS = (
    Method("commonest-labels", "the commonest set of labels of the training texts", commonest_class),
    logistic_method(
        "one-versus-rest", "a logistic regression over words and pairs for each label", one_versus_rest, first=2
    ),
)
REGRESSORS = (
    Method("mean", "the mean", mean_value),
    Method("ridge", "ridge regression over words and pairs", ridge_regression, (64.0, 16.0, 4.0, 1.0, 0.25), 3, "alpha"),
)
