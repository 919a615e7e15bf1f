"""Series for control claims: the same thing under two names, and effects of known size. Knows no claim."""

from glasshouse.results.claim import Series


def shift_units(series: Series, offset: int) -> Series:
    """The series with `offset` added to its units, so that trainings with different seeds pair."""
    items = None if series.items is None else {unit + offset: row for unit, row in series.items.items()}
    return Series({unit + offset: value for unit, value in series.values.items()}, items)


def plant(series: Series, effect: float) -> Series:
    """The series with an effect added to every value and every item."""
    items = None
    if series.items is not None:
        items = {unit: tuple(value + effect for value in row) for unit, row in series.items.items()}
    return Series({unit: value + effect for unit, value in series.values.items()}, items)
