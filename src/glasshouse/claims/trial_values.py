"""The measured values of a trial as JSON: small enough to be committed, exact enough to compute every figure again.

A value that diverged is null. The items of a unit are one string: digits if all are 0 or 1, otherwise rounded numbers.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, NotRequired, TypedDict

from glasshouse.claims.registration import FORMAT
from glasshouse.records.kept_schema import Between, Time, as_type
from glasshouse.results.claim import Measured, Series
from glasshouse.specs.errors import DataError

# Significant digits of a stored value, and of the value of an item.
DIGITS, ITEM_DIGITS = 9, 5


class SeriesFile(TypedDict):
    """The values of one quantity in `values.json`."""

    values: dict[int, float | None]
    binary_items: NotRequired[dict[int, str]]
    items: NotRequired[dict[int, str]]


class ValuesFile(TypedDict):
    """The content of `values.json`."""

    series: dict[str, SeriesFile]
    seeds: Annotated[int, Between(0, 1e6)]
    facts: list[tuple[str, str]]
    notes: list[str]
    curves: dict[str, list[tuple[float | None, float | None]]]
    machine: dict[str, str]
    when: Time


def to_json(measured: Measured) -> dict[str, Any]:
    table = asdict(measured)
    table["series"] = {key: _series_to_json(series) for key, series in measured.series.items()}
    table["curves"] = {
        name: [[_rounded(x, DIGITS), _rounded(y, DIGITS)] for x, y in points] for name, points in measured.curves.items()
    }
    return {"format": FORMAT, **json.loads(json.dumps(table))}


def from_json(table: Mapping[str, Any], where: str) -> Measured:
    try:
        as_type(table, ValuesFile)
        fields = {key: value for key, value in table.items() if key != "format"}
        return Measured(
            **{
                **fields,
                "series": {key: _series_from_json(series) for key, series in fields["series"].items()},
                "facts": tuple((str(what), str(text)) for what, text in fields["facts"]),
                "notes": tuple(fields["notes"]),
                "curves": {name: tuple((x, y) for x, y in points) for name, points in fields["curves"].items()},
            }
        )
    except (ValueError, TypeError) as error:
        raise DataError(f"{where} does not hold the values of a trial ({error}); restore it, or delete it") from None


def stored(measured: Measured) -> Measured:
    """The values as they are read back, so that a trial is judged on exactly what its file holds."""
    return from_json(to_json(measured), "the values of this trial")


def _series_to_json(series: Series) -> dict[str, Any]:
    table: dict[str, Any] = {"values": {str(unit): _rounded(value, DIGITS) for unit, value in series.values.items()}}
    if series.items is not None:
        binary = all(value in (0.0, 1.0) for row in series.items.values() for value in row)
        table["binary_items" if binary else "items"] = {
            str(unit): "".join(str(int(value)) for value in row)
            if binary
            else " ".join(f"{value:.{ITEM_DIGITS}g}" for value in row)
            for unit, row in series.items.items()
        }
    return table


def _series_from_json(table: Mapping[str, Any]) -> Series:
    binary, numbers = table.get("binary_items"), table.get("items")
    items: dict[int, tuple[float, ...]] | None = None
    if binary is not None:
        items = {int(unit): tuple(map(float, row)) for unit, row in binary.items()}
    elif numbers is not None:
        items = {int(unit): tuple(map(float, row.split())) for unit, row in numbers.items()}
    values = {int(unit): math.nan if value is None else float(value) for unit, value in table["values"].items()}
    return Series(values, items)


def _rounded(value: float, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
