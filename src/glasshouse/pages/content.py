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
    """Attention of one sentence; weights are (layers, heads, queries, keys), each row of keys summing to one."""

    tokens: tuple[str, ...]
    weights: np.ndarray

    def __post_init__(self) -> None:
        shape, length = np.shape(self.weights), len(self.tokens)
        if len(shape) != 4 or 0 in shape or shape[2:] != (length, length):
            raise GlasshouseError(
                f"attention weights have shape {shape}, but {length} tokens need (layers, heads, {length}, {length}); "
                "give the weights and the tokens of the same sentence"
            )


@dataclass(frozen=True)
class Curve:
    """A quantity over training steps; a value that is not finite is drawn as a gap."""

    name: str
    steps: list[float]
    values: list[float]

    def __post_init__(self) -> None:
        if len(self.steps) != len(self.values):
            raise GlasshouseError(
                f"curve {self.name!r} has {len(self.steps)} steps and {len(self.values)} values; "
                "give one step for each value"
            )


@dataclass(frozen=True)
class Comparison:
    """What was foretold against what happened, both already formatted."""

    what: str
    predicted: str
    measured: str


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
    prediction: tuple[Comparison, ...]
    spec: str  # TOML
    machine: tuple[tuple[str, str], ...]
    quality_name: str = "Perplexity"  # what those curves are of
    other: tuple[Curve, ...] = ()  # learning rate, gradient norm, tokens per second
    notes: tuple[str, ...] = ()  # choices the trainer made, warnings
    commands: tuple[str, ...] = ()  # to try next
