"""Feature classifiers: a logistic regression and a linear SVM on the frozen features of a run. The run is not trained.

A logistic regression over TF-IDF of words and pairs of words learns from the same rows, as the method to beat.

The features of the training rows are standardised. The strength of regularisation is chosen by cross-validation on the
training rows alone.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glasshouse.baselines import linear_models
from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.metrics.classification import CLASSIFICATION, PredictedClasses
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError

# Candidates for C, the inverse strength of regularisation, and the folds of the cross-validation.
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
DEFAULT_STRENGTH = 1.0  # without cross-validation
FOLDS = 5
ITERATIONS = 2000
BATCH = 32
LOGISTIC_REGRESSION, LINEAR_SVM, TF_IDF = "logistic regression", "linear SVM", "TF-IDF, logistic regression"


@dataclass(frozen=True)
class ClassifierScores:
    """The name of a classifier, the chosen inverse strength of regularisation C, and its metrics by split."""

    classifier: str
    strength: float
    metrics: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Features:
    """The result: the width of a feature vector, the rows of each split, and the scores of all classifiers.

    The last of `verdicts` is the logistic regression over TF-IDF, which uses nothing of the run. `cut` is the number of
    texts that were truncated to the context of the run.
    """

    width: int
    rows: dict[str, int]
    cut: int
    verdicts: tuple[ClassifierScores, ...]


def train_and_evaluate(
    run: Run,
    splits: Mapping[str, LabelledTexts],
    pooling: str = "mean",
    progress: Callable[..., None] = lambda share, what="": None,
) -> Features:
    """Train the classifiers on the features of the split `train`, and evaluate them on the other splits."""
    used = {split: rows for split, rows in splits.items() if split == "train" or len(rows)}
    held_out = [split for split in used if split != "train"]
    classes = tuple(sorted(set(used["train"].labels)))
    if len(classes) < 2:
        raise DataError(f"the training rows have {len(classes)} class; add rows of at least two classes")
    if not held_out:
        raise DataError("no rows are held out for evaluation; add rows")
    for split, rows in used.items():
        if unknown := set(rows.labels) - set(classes):
            raise DataError(f"the {split} rows have the class {min(unknown)!r}, but the training rows do not; use more rows")
    targets = {split: np.array([classes.index(label) for label in rows.labels]) for split, rows in used.items()}
    total, done = sum(map(len, used.values())), 0
    vectors: dict[str, np.ndarray] = {}
    for split, rows in used.items():
        batches = []
        for start in range(0, len(rows), BATCH):
            texts = rows.texts[start : start + BATCH]
            batches.append(run.embed(texts, pooling, BATCH).float().cpu().numpy())
            done += len(texts)
            progress(done / total, "computing features")
        vectors[split] = np.concatenate(batches)
    several = len(classes) > 2
    of_words = new_classifiers()[LOGISTIC_REGRESSION] if several else linear_models.binary_regression(DEFAULT_STRENGTH)
    sparse: dict[str, Any] = {"standardise": False, "strengths": linear_models.STRENGTHS}
    candidates: list[tuple[str, Any, Mapping[str, Any], dict[str, Any]]] = [
        *((name, classifier, vectors, {}) for name, classifier in new_classifiers().items()),
        (TF_IDF, of_words, _tf_idf(used), sparse),
    ]
    scores = []
    for number, (name, classifier, features, options) in enumerate(candidates):
        progress(number / len(candidates), f"fitting {name}")
        fitted = fit(classifier, features["train"], targets["train"].tolist(), **options)
        predicted = {split: PredictedClasses(classes, targets[split], fitted.predict(features[split])) for split in held_out}
        metrics = {split: CLASSIFICATION.measure(each) for split, each in predicted.items()}
        scores.append(ClassifierScores(name, float(fitted.get_params()["classify__C"]), metrics))
    room = run.spec.data.context - sum(map(len, run.tokenizer.prefix_and_suffix))
    truncated = sum(len(run.tokenizer.encode(text)) > room for rows in used.values() for text in rows.texts)
    return Features(vectors["train"].shape[1], {split: len(rows) for split, rows in used.items()}, truncated, tuple(scores))


def _tf_idf(splits: Mapping[str, LabelledTexts]) -> dict[str, Any]:
    """TF-IDF of words and pairs of words, or of characters if the texts have no words."""
    try:
        features = linear_models.words_and_pairs(splits["train"].texts)
    except ValueError:
        features = linear_models.characters(splits["train"].texts)
    held_out = {split: features.of(rows.texts) for split, rows in splits.items() if split != "train"}
    return {"train": features.training, **held_out}


def new_classifiers() -> dict[str, Any]:
    """Name -> a scikit-learn classifier that is not fitted yet."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return {LOGISTIC_REGRESSION: LogisticRegression(max_iter=ITERATIONS), LINEAR_SVM: LinearSVC(max_iter=ITERATIONS)}


def fit(
    classifier: Any,
    vectors: Any,
    labels: Sequence[Any],
    standardise: bool = True,
    strengths: Sequence[float] = STRENGTHS,
) -> Any:
    """A fitted pipeline of standardisation and the classifier. Cross-validation on these rows chooses its C.

    Counts of words are sparse and mostly zero, so they are better not standardised.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits  # a dependency of scikit-learn

    pipeline = Pipeline([("scale", StandardScaler() if standardise else "passthrough"), ("classify", classifier)])
    # A class with one row cannot be in both parts of a fold, so it does not limit the number of folds.
    class_sizes = [count for count in Counter(labels).values() if count > 1]
    if len(class_sizes) > 1:
        folds = StratifiedKFold(min(FOLDS, *class_sizes), shuffle=True, random_state=0)
        model = GridSearchCV(pipeline, {"classify__C": list(strengths)}, cv=folds)
    else:
        model = pipeline.set_params(classify__C=DEFAULT_STRENGTH)
    # On a busy machine, threads wait for each other: 24 s against 0.6 s for 600 rows of 128 features.
    with warnings.catch_warnings(), threadpool_limits(1):
        # On separable data, weak regularisation does not converge. The result after the last iteration is evaluated.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class")
        model.fit(vectors, labels)
    return model.best_estimator_ if isinstance(model, GridSearchCV) else model
