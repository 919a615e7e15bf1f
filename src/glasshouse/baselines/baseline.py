"""A baseline and its scores, and the data that baselines are trained on. Knows no particular model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from glasshouse.data.documents import Document
from glasshouse.data.prepared_data import PreparedData
from glasshouse.metrics.metric import Metric


@dataclass(frozen=True)
class BaselineFigures:
    """The figures of one baseline on the held-out split. Without metrics, `note` says why there are none."""

    name: str
    title: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    validation: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # what was chosen on the validation split
    note: str = ""

    def figures(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in BaselineFigures.__dataclass_fields__}


@dataclass(frozen=True)
class Baseline(BaselineFigures):
    """The figures, and the values of metrics that are means over items: those at `places` of the split, None for all."""

    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    places: Sequence[int] | None = None


@dataclass(frozen=True)
class BaselineData:
    """The data of a run: baselines are scored on `held_out`, and their settings chosen on `choice`, if it is not empty."""

    prepared: PreparedData
    documents: Callable[[str], Iterator[Document]]
    held_out: str
    choice: str = "validation"


@dataclass(frozen=True)
class TaskBaselines:
    """The baselines of a task, their number, and the metrics that rank them: the first one that was measured counts."""

    train: Callable[[BaselineData], Iterator[Baseline]]
    count: int
    criteria: Sequence[Metric]
