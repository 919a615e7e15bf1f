"""A debate between language models as plain data. Knows no models."""

import math
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.results.table import Table
from glasshouse.verdicts.mean_intervals import MeanWithInterval

# A phrase is highlighted if another point of the same model has this many words in a row too.
PHRASE = 4


def written(mean: MeanWithInterval, share: bool) -> str:
    """A mean as text: "25 %" or "0.031"."""
    if not math.isfinite(mean.value):
        return formatting.MISSING
    return f"{mean.value * 100:.0f} %" if share else f"{mean.value:.3f}"


def written_interval(mean: MeanWithInterval, share: bool) -> str:
    """The interval of a mean as text: "12 to 40 %"; empty if there is none."""
    if not math.isfinite(mean.low):
        return ""
    return f"{mean.low * 100:.0f} to {mean.high * 100:.0f} %" if share else f"{mean.low:.3f} to {mean.high:.3f}"


@dataclass(frozen=True)
class MeasuredModel:
    """One measure of one model, with its control."""

    model: str
    value: MeanWithInterval
    control: MeanWithInterval


@dataclass(frozen=True)
class MeasureBlock:
    name: str
    definition: str
    control: str  # what the control is; empty if there is none
    models: tuple[MeasuredModel, ...]
    share: bool = False  # written as a percentage, on an axis from 0 to 1


@dataclass(frozen=True)
class PointText:
    """A point as it is shown: pieces of text with whether they are repeated elsewhere, and remarks."""

    title: str
    pieces: tuple[tuple[str, bool], ...]
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelPoints:
    model: str
    pros: tuple[PointText, ...]
    cons: tuple[PointText, ...]


@dataclass(frozen=True)
class TranscriptPart:
    """The points of all models at one temperature, or about the control topic."""

    title: str
    models: tuple[ModelPoints, ...]


@dataclass(frozen=True)
class DebateContent:
    topic: str
    models: tuple[str, ...]
    subtitle: str
    measures: tuple[MeasureBlock, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    transcript: tuple[TranscriptPart, ...]
