"""The language model and the classifier of the course with several positional encodings, at the reported and at tuned rates.

Both read the course's words, with the vocabulary of both training files. Knows no claim.
"""

import math
from collections.abc import Iterable

from glasshouse.claims import margins, split_scores
from glasshouse.claims.claim import Bench, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import ngram_scores
from glasshouse.results.study import StudyResults

REPORTED, TUNED = "reported", "tuned"
SETTINGS = {REPORTED: "at the reported learning rate", TUNED: "at tuned learning rates"}
TRAINED = 32  # tokens of a training window
# Evaluation windows do not overlap, as in the assignment.
LANGUAGE_MODEL = ("speech-lm", "data.tokenizer=treebank-words", f"evaluation.stride={TRAINED}", "evaluation.batch=256")
CLASSIFIER = (
    "speech-classifier",
    "data.source=course-speeches",
    "data.tokenizer=treebank-words",
    "training.class_weights=[]",
    "evaluation.batch=256",
)
# Tuning needs held-out data: a tenth. The last checkpoint counts in both settings, so nothing is chosen during training.
OVERRIDES = {
    REPORTED: ("training.learning_rate=1e-3",),
    TUNED: ("data.validation=0.1", "evaluation.every=100000"),
}
LANGUAGE_MODEL_RATES = "training.learning_rate=5e-4,1e-3,2e-3,4e-3,8e-3,1.6e-2"
CLASSIFIER_RATES = "training.learning_rate=2.5e-4,5e-4,1e-3,2e-3,4e-3"
SPLITS = {"test-new": "new test segments", "test": "all test segments"}
# Only 199 test segments are new. A difference of one percentage point would be two of them.
ACCURACY_MARGIN = 2 * margins.ACCURACY
QUICK = (*split_scores.QUICK, "training.steps=5", "evaluation.every=5", "data.vocabulary=256")


def settings(bench: Bench) -> tuple[str, ...]:
    """The settings to measure. A quick run leaves out tuned rates, because it tunes nothing."""
    return (REPORTED,) if bench.quick else tuple(SETTINGS)


def language_models(
    name: str, setting: str, positions: tuple[str, ...], *words: str, most_seeds: int = 0, seed_offset: int = 0
) -> StudyPlan:
    """The plan to train the language model with each of these positions. `words` are further overrides."""
    return StudyPlan(
        f"{name}-{setting}",
        (*LANGUAGE_MODEL, f"model.position={','.join(positions)}", *OVERRIDES[setting], *words),
        metric="test.loss",
        tune=LANGUAGE_MODEL_RATES if setting == TUNED else None,
        most_seeds=most_seeds,
        seed_offset=seed_offset,
        quick=QUICK,
    )


def classifiers(name: str, setting: str, positions: tuple[str, ...]) -> StudyPlan:
    """The plan to train the classifier with each of these positions."""
    return StudyPlan(
        f"{name}-{setting}",
        (*CLASSIFIER, f"model.position={','.join(positions)}", *OVERRIDES[setting]),
        metric="test-new.accuracy",
        tune=CLASSIFIER_RATES if setting == TUNED else None,
        quick=(*QUICK, "training.epochs=0"),
    )


def accuracy_quantities(setting: str, arm: str) -> dict[str, Quantity]:
    """What `accuracies` measures of one arm of a study of classifiers."""
    return {
        f"{setting}/{split}/{arm}": Quantity(
            f"accuracy on {name}, {arm}, {SETTINGS[setting]}", f"{split}.accuracy", "%", 100.0, higher_is_better=True
        )
        for split, name in SPLITS.items()
    }


def accuracies(bench: Bench, study: StudyResults, setting: str, arm: str) -> dict[str, Series]:
    """The accuracy of an arm on the new test segments, of each segment too, and on the whole test file."""
    return {
        f"{setting}/test-new/{arm}": bench.item_values(study, arm, "test-new", "accuracy"),
        f"{setting}/test/{arm}": bench.values(study, arm, "test.accuracy"),
    }


def ngram_loss(bench: Bench, study: StudyResults, order: int, units: Iterable[int]) -> Series:
    """The test loss of an n-gram model of the study's training text, over the same tokens: a trivial opponent."""
    runs = (run for arm in study.arms for run in bench.finished_runs(study, arm.name))
    if (run := next(runs, None)) is None:
        return split_scores.same_for_every(units, math.nan)
    scores = bench.cached(ngram_scores.NAMES[order], lambda: ngram_scores.score_splits(run, "test", order=order), study)
    return split_scores.same_for_every(units, float(scores["test"]["loss"]))
