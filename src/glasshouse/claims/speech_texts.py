"""The texts of the course's speeches on which its language model is evaluated, and the losses on them. Knows no claim."""

from glasshouse.claims import split_scores
from glasshouse.claims.bench import Bench
from glasshouse.results.claim import Series
from glasshouse.results.study import StudyResults

TRAIN = "train"
# Name of a split -> its name for a reader.
TEXTS = {TRAIN: "the training text", "test-obama": "Obama", "test-h-bush": "H. Bush", "test-w-bush": "W. Bush"}


def losses(bench: Bench, study: StudyResults, arm: str) -> dict[str, Series]:
    """Text -> loss of an arm's runs; for test texts also the loss of each window, because windows are a sample there."""
    training = Series(split_scores.score_arm(bench, study, arm, TRAIN)["loss"])
    return {TRAIN: training} | {text: bench.item_values(study, arm, text, "loss") for text in TEXTS if text != TRAIN}
