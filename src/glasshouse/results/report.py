"""The content of a run's report as plain data: curves, samples, attention maps. Knows nothing of drawing or run folders."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from glasshouse.metrics.classification import LabelCounts
from glasshouse.results.shown import Shown
from glasshouse.results.table import Table


@dataclass(frozen=True)
class Token:
    """One token of a sample, with the most likely tokens at its position."""

    text: str
    probability: float | None  # None for a prompt token, which was not sampled
    alternatives: tuple[tuple[str, float], ...] = ()  # (text, probability), most likely first


@dataclass(frozen=True)
class Sample:
    prompt: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class AttentionMap(Shown):
    """Attention weights of one sentence, with the shape (layers, heads, queries, keys); they sum to one over the keys.

    In self-attention the keys are the sentence's own tokens; in cross-attention they are the tokens of `sources`.
    """

    tokens: tuple[str, ...]
    weights: np.ndarray
    sources: tuple[str, ...] | None = None  # None for self-attention

    @property
    def keys(self) -> tuple[str, ...]:
        return self.tokens if self.sources is None else self.sources


@dataclass(frozen=True)
class Curve:
    """A quantity over training steps. A value that is not finite is drawn as a gap.

    `number_format` is that of the metric, so that the last value reads as in a table; without one it is shortened. `most` is
    the largest possible value, where the axis ends.
    """

    name: str
    steps: list[float]
    values: list[float]
    number_format: str = ""
    most: float = math.inf


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix: `counts[i, j]` texts of class i were classified as class j. `where` names the texts."""

    labels: tuple[str, ...]
    counts: list[list[int]]
    where: str


@dataclass(frozen=True)
class ExplainedWord:
    """A word, and the probability of the predicted class, or the predicted number, minus what it is without the word."""

    text: str
    contribution: float


@dataclass(frozen=True)
class ExplainedText:
    """A text, or a pair of texts, with the contribution of each word to what was predicted, `answer`."""

    words: tuple[ExplainedWord, ...]
    truth: str
    answer: str
    probability: float | None  # of a class
    right: bool | None = None  # whether the class is a true one
    second: tuple[ExplainedWord, ...] = ()
    deviation: float | None = None  # of a number: the standard deviation of the training data
    text: str = ""  # with its own whitespace; of a pair, the first text


@dataclass(frozen=True)
class Regression:
    """True and predicted numbers of the texts that `where` names."""

    truth: np.ndarray
    predictions: np.ndarray
    where: str


@dataclass(frozen=True)
class ScoreTable:
    """Counts of each label; `heading` says what a label is, `where` names the texts."""

    heading: str
    counts: LabelCounts
    where: str


@dataclass(frozen=True)
class TaggedWord:
    """A word with its true and its predicted tag; a word beyond the context has no predicted one."""

    text: str
    truth: str
    answer: str | None

    @property
    def wrong(self) -> bool:
        return self.answer is not None and self.answer != self.truth


@dataclass(frozen=True)
class TaggedSentence:
    """The words of a text; `shortened` says whether there are more."""

    words: tuple[TaggedWord, ...]
    shortened: bool = False


@dataclass(frozen=True)
class Translated:
    """A source text, its translation by the model, and its reference translation if there is one."""

    source: str
    translation: str
    reference: str | None = None

    @property
    def exact(self) -> bool:
        return self.translation == self.reference


@dataclass(frozen=True)
class Translations:
    """Translations by a run: of the recipe's prompts, and of held-out pairs, which `where` describes."""

    prompts: tuple[Translated, ...] = ()
    pairs: tuple[Translated, ...] = ()
    where: str = ""
    signatures: tuple[tuple[str, str], ...] = ()  # (metric, signature of sacrebleu)


@dataclass(frozen=True)
class BaselineSection:
    """The run beside its baselines, which is the last row, and a sentence about the best baseline.

    `statistics` is a second sentence, for a disclosure; empty if there is no baseline.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int  # so many columns after the first hold numbers
    sentence: str
    statistics: str = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """What the task of a run adds to its report. `notes` says what is missing, and why."""

    notes: tuple[str, ...] = ()
    confusion: Confusion | None = None
    regression: Regression | None = None
    scores: ScoreTable | None = None
    errors: Table | None = None  # the texts with the worst predictions
    tagged: tuple[TaggedSentence, ...] = ()
    explained: tuple[ExplainedText, ...] = ()
    translations: Translations | None = None
    attention: AttentionMap | None = None


@dataclass(frozen=True, kw_only=True)
class Report(Section):
    """Everything that the page of a run shows. Its notes name automatic choices and warnings too."""

    title: str
    subtitle: str
    headline: tuple[tuple[str, str], ...] = ()  # (title, number), e.g. ("validation perplexity", "62.3")
    scales: Mapping[str, str] = field(default_factory=dict)  # title of a headline figure -> what others reach
    loss: tuple[Curve, ...] = ()
    quality: tuple[Curve, ...] = ()
    quality_name: str = "Perplexity"  # title of the `quality` curves
    other: tuple[Curve, ...] = ()  # learning rate, gradient norm, tokens per second
    curves_note: str = ""  # how the validation curve and the final evaluation were measured
    final: Table | None = None  # the metrics of the final evaluation, with a row for each split
    baselines: BaselineSection | None = None
    samples: tuple[Sample, ...] = ()
    sampling: str = ""  # the settings of the samples: "temperature 0.8, top-p 0.95, ..."
    parameters: tuple[tuple[str, int], ...] = ()  # (part, number of parameters)
    planned_costs: Table | None = None  # as predicted before training and as measured
    commands: tuple[str, ...] = ()  # suggestions for the next step
    spec: str = ""  # TOML
    machine: tuple[tuple[str, str], ...] = ()
