"""The mean of units crossed with items, both samples: its standard error, degrees of freedom and skewness.

Every unit (a seed, a pretraining) is scored on the same items (sentences, expressions). A value is modelled as mean + effect
of its unit + effect of its item + residual. The variance of the grand mean then follows from the mean squares of the two-way
analysis of variance:

    units items variance = MS_units + MS_items - MS_residual

It is never taken below what units, items or the residual alone would give. Leading axes of the values are studies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CrossedMean:
    """The grand mean, with what a test of it needs; an entry for each study."""

    mean: Array
    error: Array  # standard error
    degrees: Array  # degrees of freedom of the error, an approximation
    skewness: Array  # that of a sample of `degrees` + 1 values whose mean has the same error and the same skewness


def crossed_mean(values: ArrayLike) -> CrossedMean:
    """From values[..., unit, item]; at least two of each."""
    table = np.asarray(values, dtype=float)
    units, items = table.shape[-2:]
    first = table[..., :1, :1]
    constant = np.all(table == first, axis=(-2, -1))
    # Scaled by the largest value, whose square could overflow.
    unit = np.maximum(np.abs(table).max(axis=(-2, -1)), np.finfo(float).tiny)
    table = table / unit[..., None, None]
    by_unit, by_item = table.mean(axis=-1), table.mean(axis=-2)
    mean = by_unit.mean(axis=-1)
    unit_effects, item_effects = by_unit - mean[..., None], by_item - mean[..., None]
    residual = table - by_unit[..., :, None] - by_item[..., None, :] + mean[..., None, None]
    free_units, free_items = units - 1, items - 1
    of_units = items * (unit_effects**2).sum(axis=-1) / free_units
    of_items = units * (item_effects**2).sum(axis=-1) / free_items
    of_residual = (residual**2).sum(axis=(-2, -1)) / (free_units * free_items)
    error = np.sqrt(_combined(of_units, of_items, of_residual) / (units * items))
    degrees = _degrees(of_units, of_items, of_residual, free_units, free_items)
    third_moment = (unit_effects**3).mean(axis=-1) / units**2 + (item_effects**3).mean(axis=-1) / items**2
    size = degrees + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        # The skewness of a mean is that of its values / sqrt(n), and the error has n - 1 where the skewness has n.
        skew = third_moment / error**3 * np.sqrt(size) * (size / degrees) ** 1.5
    return CrossedMean(
        np.where(constant, first[..., 0, 0], mean * unit),
        np.where(constant, 0.0, error * unit),
        degrees,
        np.where(constant | (error == 0), 0.0, skew),
    )


def _combined(of_units: Array, of_items: Array, of_residual: Array) -> Array:
    return np.maximum.reduce([of_units + of_items - of_residual, of_units, of_items, of_residual])


def _degrees(of_units: Array, of_items: Array, of_residual: Array, free_units: int, free_items: int) -> Array:
    """Satterthwaite's degrees of freedom, with mean squares that are raised by the relative variance of their estimate.

    Without that, a mean square of few units that is small by chance gives a small error and many degrees of freedom
    together (docs/log.md has the figures).
    """
    units, items = of_units * (1 + 2 / free_units), of_items * (1 + 2 / free_items)
    spread = units**2 / free_units + items**2 / free_items + of_residual**2 / (free_units * free_items)
    combined = _combined(units, items, of_residual) ** 2
    return np.where(spread > 0, combined / np.where(spread > 0, spread, 1.0), float(free_units))
