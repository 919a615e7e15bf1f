"""The trivial opponents of the language models in this folder: bigram and trigram models of the same tokens."""

from glasshouse.claims.bench import Bench
from glasshouse.claims.from_scratch import ngram_scores
from glasshouse.results.claim import Quantity, Series
from glasshouse.results.study import StudyResults

ORDERS = (2, 3)


def ngram_quantities(unit: str) -> dict[str, Quantity]:
    """The test loss of each n-gram model. Nothing is random in it, so it has one value."""
    return {
        key(order): Quantity(f"test loss of a {ngram_scores.NAMES[order]} model of the same tokens", "test.loss", unit)
        for order in ORDERS
    }


def ngram_series(bench: Bench, study: StudyResults) -> dict[str, Series]:
    """The values of `ngram_quantities`, on the data of the study. All its arms must have the same tokens."""
    runs = (run for arm in study.arms for run in bench.finished_runs(study, arm.name))
    if (run := next(runs, None)) is None:
        return {}
    losses = bench.cached(
        "ngrams",
        lambda: {key(order): ngram_scores.score_splits(run, "test", order=order)["test"]["loss"] for order in ORDERS},
        study,
    )
    return {name: Series({0: loss}) for name, loss in losses.items()}


def key(order: int) -> str:
    """The key of the quantity of an order."""
    return f"ngram/{order}"
