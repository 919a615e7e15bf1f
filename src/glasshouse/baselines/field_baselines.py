"""Baselines that predict a field of a document from its text: a class, a number, tags, a translation.

A method learns from texts and field strings and predicts field strings. Its regularisation strength is chosen on the
validation split alone. The held-out split is predicted once.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from glasshouse.baselines.baseline import Baseline, BaselineData, TaskBaselines
from glasshouse.data.documents import Document
from glasshouse.metrics.metric import Metric

# Limits that keep the baselines of a large data set within seconds. Texts are left out at even distances.
MOST_TRAINING_TEXTS = 20_000
MOST_CHOICE_TEXTS = 4_000
MOST_HELD_OUT_TEXTS = 10_000
MOST_HELD_OUT_CHARACTERS = 8_000_000

Predict = Callable[[Sequence[str]], Sequence[str]]
# From a strength of regularisation to a predictor.
Learn = Callable[[float], Predict]
# Metric -> its value for each text, if the metric is their mean.
Values = dict[str, np.ndarray]
# The metrics of predicted fields, and their values: (true fields, predicted fields).
Score = Callable[[Sequence[str], Sequence[str]], tuple[dict[str, float], Values]]


@dataclass(frozen=True)
class Examples:
    """Texts with their fields. `places` are their positions in a split of `total` texts."""

    texts: Sequence[str]
    fields: Sequence[str]
    places: np.ndarray
    total: int

    def spread(self, most_texts: int, most_characters: float = np.inf) -> "Examples":
        """At most so many texts and characters, at even distances."""
        texts, characters = len(self.texts), sum(map(len, self.texts))
        kept = int(min(texts, most_texts, texts * most_characters / max(characters, 1)))
        if kept >= texts:
            return self
        chosen = np.linspace(0, texts - 1, max(kept, 1)).round().astype(np.int64)
        rows = [self.texts[index] for index in chosen], [self.fields[index] for index in chosen]
        return Examples(*rows, self.places[chosen], self.total)


@dataclass(frozen=True)
class Method:
    """A way to predict a field. `strengths` go from strong to weak regularisation; `strengths[first]` is tried first."""

    name: str
    title: str
    learn: Callable[[Examples], Learn]
    strengths: tuple[float, ...] = ()
    first: int = 0
    setting: str = "C"
    # The largest number of training characters, and of training characters times different fields.
    most_characters: float = 16e6
    most_work: float = np.inf


def of_field(name: str, methods: Sequence[Method], score: Score, *criteria: Metric) -> TaskBaselines:
    """The baselines that predict the field `name`. The first of `criteria` that is measured chooses strengths."""

    def train_all(data: BaselineData) -> Iterator[Baseline]:
        training = read(data.documents("train"), name).spread(MOST_TRAINING_TEXTS)
        choice = read(data.documents(data.choice), name).spread(MOST_CHOICE_TEXTS) if data.choice else None
        held_out = read(data.documents(data.held_out), name).spread(MOST_HELD_OUT_TEXTS, MOST_HELD_OUT_CHARACTERS)
        for method in methods:
            yield train(method, training, choice, held_out, score, criteria)

    return TaskBaselines(train_all, len(methods), criteria)


def read(documents: Iterable[Document], name: str) -> Examples:
    """The texts of documents with one of their fields. The second text of a pair follows the first."""
    texts, fields = [], []
    for document in documents:
        second = document.fields.get("second", "")
        texts.append(f"{document.text}\n{second}" if second else document.text)
        fields.append(document.fields[name])
    return Examples(texts, fields, np.arange(len(texts)), len(texts))


def train(
    method: Method, training: Examples, choice: Examples | None, held_out: Examples, score: Score, criteria: Sequence[Metric]
) -> Baseline:
    """Train a method, choose its strength, and score it. What cannot be trained says so in its note."""
    work = method.most_work / max(len(set(training.fields)), 1)
    training = training.spread(MOST_TRAINING_TEXTS, min(method.most_characters, work))
    try:
        if not training.texts:
            raise ValueError("there are no training texts")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predictor, settings, validation = _choose(method, training, choice, score, criteria)
            metrics, values = score(held_out.fields, predictor(held_out.texts))
    except (ValueError, ArithmeticError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Baseline(method.name, method.title, note=f"cannot be trained: {reason}")
    places = held_out.places.tolist() if len(held_out.texts) < held_out.total else None
    items = {name: of_each.tolist() for name, of_each in values.items()}
    note = _remarks(training, held_out)
    return Baseline(method.name, method.title, metrics, validation, settings, note, items, places)


def _choose(
    method: Method, training: Examples, choice: Examples | None, score: Score, criteria: Sequence[Metric]
) -> tuple[Predict, dict[str, object], dict[str, float]]:
    """The predictor with the best strength, that strength, and its metrics on the validation split."""
    learn = method.learn(training)
    if not method.strengths:
        predictor = learn(0.0)
        return predictor, {}, score(choice.fields, predictor(choice.texts))[0] if choice and choice.texts else {}
    if choice is None or not choice.texts:
        default = method.strengths[method.first]
        return learn(default), {method.setting: default}, {}

    @cache
    def tried(index: int) -> tuple[Predict, dict[str, float]]:
        predictor = learn(method.strengths[index])
        return predictor, score(choice.fields, predictor(choice.texts))[0]

    def quality(index: int) -> float:
        _, metrics = tried(index)
        metric = next(metric for metric in criteria if metric.name in metrics)
        return metrics[metric.name] if metric.higher_is_better else -metrics[metric.name]

    best = climb(quality, len(method.strengths), method.first)
    predictor, metrics = tried(best)
    return predictor, {method.setting: method.strengths[best]}, metrics


def climb(quality: Callable[[int], float], count: int, first: int) -> int:
    """The index that is reached from `first` by steps to a better neighbour: upwards if that is better, else downwards."""
    best = first
    for step in (1, -1):
        while 0 <= best + step < count and quality(best + step) > quality(best):
            best += step
        if best != first:
            break
    return best


def _remarks(training: Examples, held_out: Examples) -> str:
    remarks = []
    if len(training.texts) < training.total:
        remarks.append(f"trained on {len(training.texts):,} of {training.total:,} texts")
    if len(held_out.texts) < held_out.total:
        remarks.append(f"scored on {len(held_out.texts):,} of {held_out.total:,} texts")
    return ", ".join(remarks)
