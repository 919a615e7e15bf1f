"""Metrics: the name in files, the title, the unit, the better direction, and the value as a function of a task's scores.

A task declares the metrics that it reports (`Task.metrics`). Tables, reports and studies read these declarations.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from glasshouse.formatting import formatted

# The exponent of a perplexity is limited, because exp overflows soon after. A loss this large is of a model that has failed.
LARGEST_EXPONENT = 700.0
# A number; or one for each class, by its name; or None if these scores do not give it.
Value = float | Mapping[str, float] | None


@dataclass(frozen=True)
class Metric:
    """One metric.

    `better` is empty for a count, which is shown but cannot decide a comparison. `per_token` marks a metric that depends on
    how the tokenizer splits the text, so it cannot compare runs with different tokenizers. `per_class` marks a metric that
    is reported once for each class, as `NAME.CLASS`. `most` is the largest possible value, where axes end. A share has the
    unit `percent`: it is shown as a percentage, and a difference as points. One that is not `shown` is only recorded.

    `measure` gives the value from the scores of a task, and `items` the values item by item of a metric that is their mean.
    """

    name: str
    title: str
    number_format: str = "{:.4f}"
    better: Literal["lower", "higher", ""] = ""
    per_token: bool = False
    per_class: bool = False
    most: float = math.inf
    unit: Literal["", "percent"] = ""
    shown: bool = True
    measure: Callable[..., Value] | None = None
    items: Callable[..., np.ndarray] | None = None

    @property
    def higher_is_better(self) -> bool:
        return self.better == "higher"

    def of(self, measure: Callable[..., Value], items: Callable[..., np.ndarray] | None = None) -> "Metric":
        """The same metric with its functions of a task's scores."""
        return replace(self, measure=measure, items=items)

    def mean_of(self, items: Callable[..., np.ndarray]) -> "Metric":
        """The same metric as the mean of these values, one for each item."""
        return self.of(lambda scores: float(items(scores).mean()), items)

    def text(self, value: float) -> str:
        """The value as formatted text; a very large one, such as the perplexity of a model that failed, as 1.235×10³⁰."""
        # A count is exact, whatever its size.
        return formatted(value, self.number_format) if self.better else self.number_format.format(value)


def share(name: str, title: str, better: Literal["higher", ""] = "higher", per_class: bool = False) -> Metric:
    """A metric from 0 to 1 that is shown as a percentage."""
    return Metric(name, title, "{:.2%}", better, per_class=per_class, most=1.0, unit="percent")


def score(name: str, title: str, per_class: bool = False) -> Metric:
    """A metric whose best value is 1 and that is no share."""
    return Metric(name, title, "{:.3f}", "higher", per_class=per_class, most=1.0)


def count(name: str, title: str, shown: bool = True) -> Metric:
    return Metric(name, title, "{:,.0f}", shown=shown)


def perplexity(loss: float) -> float:
    """exp(mean loss): the number of equally likely tokens that would be as hard to predict."""
    return math.exp(min(loss, LARGEST_EXPONENT))


def bits_per_byte(nats: float, size: int) -> float:
    """Bits to encode one byte of the text, from the summed loss. Unlike perplexity it is comparable between tokenizers."""
    return nats / math.log(2) / size


LOSS = Metric("loss", "loss", "{:.4f}", "lower")
# Of scores with the loss of each item.
MEAN_LOSS = LOSS.mean_of(lambda scores: scores.loss)
# Of scores with the mean loss of a token.
PERPLEXITY = Metric("perplexity", "perplexity", "{:.2f}", "lower").of(lambda scores: perplexity(scores.loss))
WORD_PERPLEXITY = Metric("word_perplexity", "perplexity per word", "{:.2f}", "lower")
BITS_PER_BYTE = Metric("bits_per_byte", "bits per byte", "{:.4f}", "lower")
ACCURACY = share("accuracy", "accuracy")
MAJORITY = share("majority", "largest class", better="")
MACRO_F1 = score("macro_f1", "macro F1")
RECALL = share("recall", "recall", per_class=True)
MICRO_F1 = score("micro_f1", "micro F1")
F1 = score("f1", "F1", per_class=True)
ENTITY_F1 = score("entity_f1", "entity F1")
ENTITY_PRECISION = score("entity_precision", "entity precision")
ENTITY_RECALL = score("entity_recall", "entity recall")
EXACT = share("exact", "exact match")
TOKENS = count("tokens", "tokens")
BYTES = count("bytes", "bytes", shown=False)
WORDS = count("words", "words")
EXAMPLES = count("examples", "examples").of(lambda scores: len(scores.loss))
UNKNOWN = share("unknown_share", "unknown tokens", better="")


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

    def headlines(self, values: Mapping[str, float]) -> list[tuple[str, str]]:
        """(title, formatted value) of the headline metrics that were measured."""
        return [(self[name].title, self[name].text(values[name])) for name in self.headline if name in values]

    def table(self, measured: Mapping[str, Mapping[str, float]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Titles and rows of a table of metrics, with a row for each split or file: split -> metric -> value."""
        names = [name for name, metric in self._known.items() if metric.shown]
        columns = [self._known[name] for name in names if any(name in values for values in measured.values())]
        rows = [
            (split, *(metric.text(values[metric.name]) if metric.name in values else "" for metric in columns))
            for split, values in measured.items()
        ]
        return ("data", *(metric.title for metric in columns)), rows

    def measure(self, scores: object) -> dict[str, float]:
        """The value of every metric that these scores give."""
        values: dict[str, float] = {}
        for name, metric in self._known.items():
            value = metric.measure(scores) if metric.measure else None
            if isinstance(value, Mapping):
                values |= {f"{name}.{class_name}": float(part) for class_name, part in value.items()}
            elif value is not None:
                values[name] = float(value)
        return values

    def measure_items(self, scores: object) -> dict[str, np.ndarray]:
        """The values item by item of every metric that is their mean."""
        return {name: metric.items(scores) for name, metric in self._known.items() if metric.items}

    def results(self, scores: object) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """All metrics of these scores, and their values item by item."""
        return self.measure(scores), self.measure_items(scores)

    def comparable(self) -> list[str]:
        """The names of the metrics that can decide a comparison of runs."""
        return [name for name, metric in self._known.items() if metric.better and not metric.per_class]
