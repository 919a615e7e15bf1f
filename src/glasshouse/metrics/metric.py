"""The description of a metric: its name in files, its title, its number format, and whether lower or higher is better.

A task declares the metrics that it reports (`Task.metrics`). Tables, reports and studies read these declarations.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from glasshouse.formatting import formatted


@dataclass(frozen=True)
class Metric:
    """One metric.

    `better` is empty for a count, which is shown but cannot decide a comparison. `per_token` marks a metric that depends on
    how the tokenizer splits the text, so it cannot compare runs with different tokenizers. `per_class` marks a metric that
    is reported once for each class, as `NAME.CLASS`. `most` is the largest possible value, where axes end.
    """

    name: str
    title: str
    number_format: str = "{:.4f}"
    better: Literal["lower", "higher", ""] = ""
    per_token: bool = False
    per_class: bool = False
    most: float = math.inf

    @property
    def higher_is_better(self) -> bool:
        return self.better == "higher"

    def text(self, value: float) -> str:
        """The value as formatted text; a very large one, such as the perplexity of a model that failed, as 1.235×10³⁰."""
        # A count is exact, whatever its size.
        return formatted(value, self.number_format) if self.better else self.number_format.format(value)


LOSS = Metric("loss", "loss", "{:.4f}", "lower")
PERPLEXITY = Metric("perplexity", "perplexity", "{:.2f}", "lower")
WORD_PERPLEXITY = Metric("word_perplexity", "perplexity per word", "{:.2f}", "lower")
BITS_PER_BYTE = Metric("bits_per_byte", "bits per byte", "{:.4f}", "lower")
ACCURACY = Metric("accuracy", "accuracy", "{:.2%}", "higher", most=1.0)
MAJORITY = Metric("majority", "largest class", "{:.2%}", most=1.0)
MACRO_F1 = Metric("macro_f1", "macro F1", "{:.3f}", "higher", most=1.0)
RECALL = Metric("recall", "recall", "{:.2%}", "higher", per_class=True, most=1.0)
MICRO_F1 = Metric("micro_f1", "micro F1", "{:.3f}", "higher", most=1.0)
F1 = Metric("f1", "F1", "{:.3f}", "higher", per_class=True, most=1.0)
ENTITY_F1 = Metric("entity_f1", "entity F1", "{:.3f}", "higher", most=1.0)
ENTITY_PRECISION = Metric("entity_precision", "entity precision", "{:.3f}", "higher", most=1.0)
ENTITY_RECALL = Metric("entity_recall", "entity recall", "{:.3f}", "higher", most=1.0)
RMSE = Metric("rmse", "RMSE", "{:.4g}", "lower")
MAE = Metric("mae", "mean absolute error", "{:.4g}", "lower")
R2 = Metric("r2", "R²", "{:.3f}", "higher", most=1.0)
SPEARMAN = Metric("spearman", "Spearman correlation", "{:.3f}", "higher", most=1.0)
BLEU = Metric("bleu", "BLEU", "{:.2f}", "higher", most=100.0)
CHRF = Metric("chrf", "chrF", "{:.2f}", "higher", most=100.0)
EXACT = Metric("exact", "exact match", "{:.2%}", "higher", most=1.0)
TOKENS = Metric("tokens", "tokens", "{:,.0f}")
WORDS = Metric("words", "words", "{:,.0f}")
EXAMPLES = Metric("examples", "examples", "{:,.0f}")
UNKNOWN = Metric("unknown_share", "unknown tokens", "{:.2%}", most=1.0)


def per_token(metric: Metric) -> Metric:
    """The same metric for a task that predicts tokens, so that it depends on the tokenizer."""
    return replace(metric, per_token=True)


class Metrics(Mapping[str, Metric]):
    """The metrics of a task by name, in the order of the columns of a table. `headline` names those that head a report."""

    def __init__(self, metrics: Iterable[Metric], headline: Iterable[str] = ()) -> None:
        self._known = {metric.name: metric for metric in metrics}
        self.headline = tuple(headline)

    def __getitem__(self, name: str) -> Metric:
        if name in self._known:
            return self._known[name]
        base, dot, class_name = name.partition(".")
        if dot and base in self._known and self._known[base].per_class:
            metric = self._known[base]
            return replace(metric, name=name, title=f"{metric.title} of {class_name}")
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def find(self, name: str) -> Metric:
        """A metric by name. A name that is not declared gives a metric with a title made from the name and no direction."""
        return self[name] if name in self else Metric(name, name.replace("_", " ").replace(".", " of "), "{:.4g}")

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self[name])
        except KeyError:
            return False

    def ordered(self, values: Mapping[str, float]) -> list[str]:
        """The declared metrics among these values, in the order of the columns of a table."""
        return [name for name in self._known if name in values]

    def headlines(self, values: Mapping[str, float]) -> list[tuple[str, str]]:
        """(title, formatted value) of the headline metrics that were measured."""
        return [(self[name].title, self[name].text(values[name])) for name in self.headline if name in values]

    def table(self, measured: Mapping[str, Mapping[str, float]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Titles and rows of a table of metrics, with a row for each split or file: split -> metric -> value."""
        columns = [metric for name, metric in self._known.items() if any(name in values for values in measured.values())]
        rows = [
            (split, *(metric.text(values[metric.name]) if metric.name in values else "" for metric in columns))
            for split, values in measured.items()
        ]
        return ("data", *(metric.title for metric in columns)), rows

    def comparable(self) -> list[str]:
        """The names of the metrics that can decide a comparison of runs."""
        return [name for name, metric in self._known.items() if metric.better and not metric.per_class]
