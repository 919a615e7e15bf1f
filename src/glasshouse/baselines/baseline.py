"""A baseline and its scores, and the data that baselines are trained on. Knows no particular model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
    """The figures of one baseline and its scores item by item.

    `values` has the metrics that are means over items, as `Task.item_values` has them for a run. `places` are the scored
    items among all of the split; None means all of them.
    """

    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    places: np.ndarray | None = None


@dataclass(frozen=True)
class BaselineData:
    """The data of a run. Baselines are scored on the split `held_out`; their settings are chosen on the split `choice`.

    Without a test split the validation split is scored, `choice` is empty, and all settings keep their defaults.
    """

    prepared: PreparedData
    documents: Callable[[str], Iterator[Document]]
    held_out: str
    choice: str = "validation"


# Trains the baselines of a task one after another.
Family = Callable[[BaselineData], Iterator[Baseline]]


@dataclass(frozen=True)
class TaskBaselines:
    """The baselines of a task, their number, and the metrics that rank them: the first one that was measured counts."""

    train: Family
    count: int
    criteria: Sequence[Metric]
