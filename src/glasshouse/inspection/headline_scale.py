"""The scale of a headline figure: what guessing reaches, and what the best simple baseline reaches on the same split."""

from collections.abc import Mapping

from glasshouse.baselines.baseline_results import BaselineResults
from glasshouse.formatting import number
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, MAJORITY, PERPLEXITY, Metric
from glasshouse.runs.run import Run

# From here on, the decimals of a perplexity say nothing.
LARGE_PERPLEXITY = 100
# Guessing each byte evenly.
BITS_OF_A_BYTE = 8.0


def scales(run: Run) -> dict[str, str]:
    """Title of a headline figure, as "validation perplexity" -> its scale. A figure without one is left out."""
    outcome, metrics, baselines = run.final_metrics, run.task.metrics, run.baselines
    found = {
        f"{split} {metrics[name].title}": scale(metrics[name], outcome[split], baselines, split, choices(run, metrics[name]))
        for split in outcome
        for name in metrics.headline
        if name in outcome[split]
    }
    return {title: text for title, text in found.items() if text}


def choices(run: Run, metric: Metric) -> int:
    """The number of answers that a model chooses one from; 0 if the metric is not about such a choice."""
    if metric.name == PERPLEXITY.name:
        return run.vocabulary
    if metric.name == ACCURACY.name:
        return len(run.facts.get("labels", ())) or (run.vocabulary if metric.per_token else 0)
    return 0


def scale(metric: Metric, values: Mapping[str, float], baselines: BaselineResults | None, split: str, choices: int) -> str:
    """ "guessing evenly: 4,096; a 3-gram model: 512": worse to better by what they know. Empty if nothing is known."""
    guesses = _guesses(metric, values, choices)
    if baselines is not None and baselines.split == split and (best := baselines.best(metric)) is not None:
        guesses[best.title] = best.metrics[metric.name]
    return "; ".join(f"{name}: {_text(metric, value)}" for name, value in guesses.items())


def _guesses(metric: Metric, values: Mapping[str, float], choices: int) -> dict[str, float]:
    """What needs no model: each answer as likely as any other, and always the commonest class."""
    if metric.name == BITS_PER_BYTE.name:
        return {"guessing evenly": BITS_OF_A_BYTE}
    if not choices:
        return {}
    guesses = {"guessing evenly": float(choices) if metric.name == PERPLEXITY.name else 1 / choices}
    if metric.name == ACCURACY.name and MAJORITY.name in values:
        guesses["always the commonest class of this split"] = values[MAJORITY.name]
    return guesses


def _text(metric: Metric, value: float) -> str:
    if value == BITS_OF_A_BYTE:
        return f"{value:g}"
    if metric.name == PERPLEXITY.name and value >= LARGE_PERPLEXITY:
        return number(value, 0)
    return metric.text(value)
