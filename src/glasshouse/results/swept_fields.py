"""The fields of a sweep: their values in order, the best arm, and whether its value lies at an edge."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from glasshouse.formatting import LARGEST_DRAWABLE
from glasshouse.results import study_text
from glasshouse.results.study import Arm, StudyResults

# A line chart needs at least this many values of its field.
FEWEST_VALUES = 3


@dataclass(frozen=True)
class Field:
    """A swept field with its values as the user wrote them; numeric values are sorted, others have `numbers=None`."""

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None


def fields(comparison: StudyResults) -> list[Field]:
    """The fields that have at least two different values among the arms."""
    return [_field(name, values) for name, values in study_text.varied_fields(comparison).items() if len(values) > 1]


def in_order_of_values(arms: Sequence[Arm]) -> list[Arm]:
    """The arms by their values of the swept fields: numbers by size, other values in the order of first use."""
    swept: dict[str, list[str]] = {}
    for arm in arms:
        for name, value in arm.changes.items():
            swept.setdefault(name, [])
            swept[name] += [] if value in swept[name] else [value]
    places = {name: {value: place for place, value in enumerate(_field(name, swept[name]).values)} for name in swept}
    return sorted(arms, key=lambda arm: [places[name].get(arm.changes.get(name, ""), -1) for name in places])


def edge_warnings(comparison: StudyResults, fewest: int = 2) -> list[str]:
    """A sentence for each numeric field of at least `fewest` values whose best value is the smallest or the largest.

    Of two values the best is always one of these, and the sentence says so. A smallest value of 0 is no edge: it usually
    turns the field off, and nothing lies below.
    """
    best, warnings = best_arm(comparison), []
    for field in fields(comparison) if best else []:
        value = best.changes.get(field.name, "") if best else ""
        if field.numbers is None or len(field.values) < fewest or value not in field.values[:: len(field.values) - 1]:
            continue
        tried = "of the only two that were tried" if len(field.values) == 2 else "that was tried"
        largest = value == field.values[-1]
        if largest or as_number(value) != 0:
            warnings.append(
                f"the best {field.name} is {value}, the {'largest' if largest else 'smallest'} {tried}: a "
                f"{'larger' if largest else 'smaller'} one may be better still, so sweep further in that direction"
            )
    return warnings


def best_arm(comparison: StudyResults) -> Arm | None:
    """The arm with the best mean among those with the fewest diverged seeds."""
    candidates = [arm for arm in comparison.arms if arm.summary and math.isfinite(arm.summary.mean)]
    sign = -1 if comparison.higher_is_better else 1
    return min(candidates, key=lambda arm: (len(arm.diverged), sign * arm.summary.mean), default=None)  # type: ignore[union-attr]


def _field(name: str, values: list[str]) -> Field:
    numbers = [as_number(value) for value in values]
    if any(math.isnan(number) for number in numbers) or len(set(numbers)) < len(numbers):
        return Field(name, tuple(values), None)
    order = sorted(range(len(values)), key=numbers.__getitem__)
    return Field(name, tuple(values[index] for index in order), tuple(numbers[index] for index in order))


def as_number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        return math.nan
    return number if abs(number) <= LARGEST_DRAWABLE else math.nan
