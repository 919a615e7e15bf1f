"""How two runs differ: the fields of their specs, and their final metrics side by side. Loads no model."""

from dataclasses import dataclass
from typing import Any

from glasshouse.records import run_list
from glasshouse.records.run_folder import RunFolder


@dataclass(frozen=True)
class RunDifferences:
    """Two runs beside each other. A field or metric that a run does not have is None.

    `fields` are the fields of the specs with different values: (name, first, second). `metrics` are all final metrics of
    either: (split.metric, first, second).
    """

    names: tuple[str, str]
    fields: tuple[tuple[str, Any, Any], ...]
    metrics: tuple[tuple[str, float | None, float | None], ...]


def between(first: RunFolder, second: RunFolder) -> RunDifferences:
    """The differences between two runs."""
    specs = [run_list.flat_fields(run.tables()) for run in (first, second)]
    fields = ((name, specs[0].get(name), specs[1].get(name)) for name in {**specs[0], **specs[1]})
    metrics = [
        {
            f"{split}.{name}": value
            for split, values in run_list.final_metrics(run.facts()).items()
            for name, value in values.items()
        }
        for run in (first, second)
    ]
    return RunDifferences(
        (first.name, second.name),
        tuple((name, one, other) for name, one, other in fields if one != other),
        tuple((name, metrics[0].get(name), metrics[1].get(name)) for name in {**metrics[0], **metrics[1]}),
    )
