"""What a report says, as plain data: curves, samples, attention. Knows nothing of drawing or of run folders."""

from dataclasses import dataclass

import numpy as np

from glasshouse.specs.errors import GlasshouseError


@dataclass(frozen=True)
class Token:
    """One token of a sample, with the likeliest tokens at its place."""

    text: str
    probability: float | None  # None: a prompt token, given rather than chosen
    alternatives: tuple[tuple[str, float], ...] = ()  # (text, probability), likeliest first


@dataclass(frozen=True)
class Sample:
    prompt: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class AttentionMap:
    """Attention of one sentence; weights are (layers, heads, queries, keys), each row of keys summing to one.

    A sentence looks at itself, or at another, its source, whose tokens are then the keys.
    """

    tokens: tuple[str, ...]
    weights: np.ndarray
    sources: tuple[str, ...] | None = None  # None: the sentence itself

    def __post_init__(self) -> None:
        shape, queries, keys = np.shape(self.weights), len(self.tokens), len(self.keys)
        if len(shape) != 4 or 0 in shape or shape[2:] != (queries, keys):
            seen, given = ("", "sentence") if self.sources is None else (f" that look at {keys}", "pair of sentences")
            raise GlasshouseError(
                "shapes-differ",
                f"attention weights have shape {shape}, but {queries} tokens{seen} need (layers, heads, {queries}, {keys}); "
                f"give the weights and the tokens of the same {given}",
            )

    @property
    def keys(self) -> tuple[str, ...]:
        """The tokens that are looked at."""
        return self.tokens if self.sources is None else self.sources


@dataclass(frozen=True)
class Curve:
    """A quantity over training steps; a value that is not finite is drawn as a gap."""

    name: str
    steps: list[float]
    values: list[float]

    def __post_init__(self) -> None:
        if len(self.steps) != len(self.values):
            raise GlasshouseError(
                "shapes-differ",
                f"curve {self.name!r} has {len(self.steps)} steps and {len(self.values)} values; "
                "give one step for each value",
            )


@dataclass(frozen=True)
class PlannedCost:
    """What was foretold against what happened, both already formatted."""

    what: str
    predicted: str
    measured: str


@dataclass(frozen=True)
class Confusion:
    """How often a text of class i (a row) was taken for class j (a column), on the texts that `where` names."""

    labels: tuple[str, ...]
    counts: np.ndarray
    where: str

    def __post_init__(self) -> None:
        if np.shape(self.counts) != (len(self.labels), len(self.labels)):
            raise GlasshouseError(
                "shapes-differ",
                f"a confusion table of shape {np.shape(self.counts)} has {len(self.labels)} labels; "
                "give a row and a column for each label",
            )


@dataclass(frozen=True)
class Mistake:
    """A text that was taken for another class, and how sure the model was of that."""

    text: str
    truth: str
    answer: str
    probability: float


@dataclass(frozen=True)
class Translated:
    """A text, what it became, and what it should have become where that is known."""

    source: str
    translation: str
    reference: str | None = None

    @property
    def exact(self) -> bool:
        return self.translation == self.reference


@dataclass(frozen=True)
class Translations:
    """What a translator writes: of prompts, and of held-out pairs, which `where` names."""

    prompts: tuple[Translated, ...] = ()
    pairs: tuple[Translated, ...] = ()
    where: str = ""
    signatures: tuple[tuple[str, str], ...] = ()  # (metric, how it was counted)


@dataclass(frozen=True)
class Report:
    title: str
    subtitle: str
    headline: tuple[tuple[str, str], ...]  # (name, figure), e.g. ("validation perplexity", "62.3")
    loss: tuple[Curve, ...]
    quality: tuple[Curve, ...]
    samples: tuple[Sample, ...]
    attention: AttentionMap | None
    parameters: tuple[tuple[str, int], ...]  # by part
    prediction: tuple[PlannedCost, ...]
    spec: str  # TOML
    machine: tuple[tuple[str, str], ...]
    quality_name: str = "Perplexity"  # what those curves are of
    other: tuple[Curve, ...] = ()  # learning rate, gradient norm, tokens per second
    notes: tuple[str, ...] = ()  # choices the trainer made, warnings
    commands: tuple[str, ...] = ()  # to try next
    confusion: Confusion | None = None
    mistakes: tuple[Mistake, ...] = ()  # the surest ones first
    translations: Translations | None = None
