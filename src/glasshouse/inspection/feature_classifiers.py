"""Features on trial: what simple classifiers can tell from the vectors of a frozen run. The run itself learns nothing.

The vectors of the training rows are standardised and given to a logistic regression and a linear support vector machine,
whose strength of regularisation is chosen by cross-validation on those rows alone.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glasshouse.inspection.labelled_texts import Labelled
from glasshouse.metrics.classification import confusion, scores
from glasshouse.metrics.metric import Metrics
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError
from glasshouse.tasks.classify import Classify

# Inverse strengths of regularisation to choose from, and folds to choose by.
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
USUAL = 1.0  # where there is nothing to choose by
FOLDS = 5
ITERATIONS = 2000
AT_ONCE = 32


@dataclass(frozen=True)
class ClassifierScores:
    """One classifier: what it is called, the strength chosen, and its metrics by split."""

    classifier: str
    strength: float
    metrics: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Features:
    """What was found: how many rows each split had, how many of the texts were cut to the context, and the verdicts."""

    width: int
    rows: dict[str, int]
    cut: int
    verdicts: tuple[ClassifierScores, ...]

    @property
    def metrics(self) -> Metrics:
        """The declarations of the classifiers' metrics, which are those of the task."""
        return Classify.metrics


def examine(
    run: Run,
    splits: Mapping[str, Labelled],
    pooling: str = "mean",
    progress: Callable[..., None] = lambda share, what="": None,
) -> Features:
    """Train both classifiers on the features of the split `train`, and measure them on the others."""
    train = splits["train"]
    held = [split for split in splits if split != "train" and len(splits[split])]
    names = tuple(sorted(set(train.labels)))
    if len(names) < 2:
        raise DataError(
            "one-class", f"the training rows have {len(names)} class; nothing to tell apart: give rows of at least two"
        )
    if not held:
        raise DataError("nothing-held-out", "no rows are held out to measure on; give more of them")
    for split in held:
        if strange := set(splits[split].labels) - set(names):
            raise DataError(
                "unknown-label", f"the {split} rows have a class {min(strange)!r} that the training rows lack; use more rows"
            )
    total, done = sum(map(len, splits.values())), 0
    vectors: dict[str, np.ndarray] = {}
    for split in ("train", *held):
        found = []
        for begin in range(0, len(splits[split]), AT_ONCE):
            some = splits[split].texts[begin : begin + AT_ONCE]
            found.append(run.embed(some, pooling, AT_ONCE).float().cpu().numpy())
            done += len(some)
            progress(done / total, "computing features")
        vectors[split] = np.concatenate(found)
    verdicts = []
    for number, (name, classifier) in enumerate(_classifiers().items()):
        progress(number / 2, f"fitting a {name}")
        verdicts.append(_judge(name, classifier, splits, vectors, held, names))
    room = run.spec.data.context - sum(map(len, run.tokenizer.frame))
    cut = sum(len(run.tokenizer.encode(text)) > room for split in ("train", *held) for text in splits[split].texts)
    rows = {split: len(splits[split]) for split in ("train", *held)}
    return Features(vectors["train"].shape[1], rows, cut, tuple(verdicts))


def _classifiers() -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return {"logistic regression": LogisticRegression(max_iter=ITERATIONS), "linear SVM": LinearSVC(max_iter=ITERATIONS)}


def _judge(
    name: str,
    classifier: Any,
    splits: Mapping[str, Labelled],
    vectors: Mapping[str, np.ndarray],
    held: Sequence[str],
    names: tuple[str, ...],
) -> ClassifierScores:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits  # scikit-learn needs it too

    numbers = {split: np.array([names.index(label) for label in splits[split].labels]) for split in ("train", *held)}
    pipeline = Pipeline([("scale", StandardScaler()), ("classify", classifier)])
    # A class of one row cannot be both learned and measured, so the folds are cut by the others.
    several = [count for count in Counter(splits["train"].labels).values() if count > 1]
    if len(several) > 1:
        folds = StratifiedKFold(min(FOLDS, *several), shuffle=True, random_state=0)
        search = GridSearchCV(pipeline, {"classify__C": list(STRENGTHS)}, cv=folds)
    else:
        search = pipeline.set_params(classify__C=USUAL)
    # Beside others on a machine, threads wait for each other: 24 s against 0.6 s for 600 rows of 128 features.
    with warnings.catch_warnings(), threadpool_limits(1):
        # Without regularisation a separable set has no end to converge to; what was reached is measured all the same.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class")
        search.fit(vectors["train"], numbers["train"])
    metrics = {split: scores(confusion(numbers[split], search.predict(vectors[split]), len(names)), names) for split in held}
    chosen = search.best_estimator_ if isinstance(search, GridSearchCV) else search
    return ClassifierScores(name, float(chosen.get_params()["classify__C"]), metrics)
