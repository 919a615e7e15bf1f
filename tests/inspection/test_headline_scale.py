"""Headline figures have a scale: guessing, the commonest class, and the best baseline on the same split."""

from glasshouse.baselines.baseline_results import BaselineResult, BaselineResults
from glasshouse.inspection.headline_scale import scale
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, PERPLEXITY, Metric
from glasshouse.metrics.translation import BLEU


def beside(metric: Metric, *figures: float) -> BaselineResults:
    """Baselines with these figures on the test split."""
    results = [BaselineResult(f"b{i}", f"baseline {i}", {metric.name: figure}, {}, {}) for i, figure in enumerate(figures)]
    own = {metric.name: 1.0}
    return BaselineResults("task", "data", "test", 1, metric.name, "texts", own, tuple(results))


def test_a_perplexity_stands_beside_even_guesses_and_the_best_baseline() -> None:
    found = scale(PERPLEXITY, {"perplexity": 93.2}, beside(PERPLEXITY, 700.123, 512.4), "test", choices=4096)
    assert found == "guessing evenly: 4,096; baseline 1: 512"
    assert scale(PERPLEXITY, {}, beside(PERPLEXITY, 12.345), "test", 65) == "guessing evenly: 65.00; baseline 0: 12.35"


def test_an_accuracy_stands_beside_the_commonest_class() -> None:
    values = {"accuracy": 0.8, "majority": 0.4}
    found = scale(ACCURACY, values, beside(ACCURACY, 0.5, 0.7), "test", choices=5)
    assert found == "guessing evenly: 20.00%; always the commonest class of this split: 40.00%; baseline 1: 70.00%"


def test_a_baseline_counts_on_its_own_split_only() -> None:
    assert scale(BITS_PER_BYTE, {}, beside(BITS_PER_BYTE, 2.0), "validation", 0) == "guessing evenly: 8"
    assert scale(BITS_PER_BYTE, {}, beside(BITS_PER_BYTE, 2.0), "test", 0) == "guessing evenly: 8; baseline 0: 2.0000"


def test_a_figure_without_a_scale_has_none() -> None:
    assert scale(BLEU, {"bleu": 20.0}, None, "test", 0) == ""
