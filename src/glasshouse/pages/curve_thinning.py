"""Reduces a long curve to few points for drawing and keeps its minima, maxima and gaps. Knows nothing of drawing."""

from itertools import pairwise

import numpy as np

from glasshouse.results.report import Curve

MOST_POINTS = 1000
# A larger value is treated like infinity: it means divergence, and arithmetic on it could overflow.
LARGEST_DRAWABLE = 1e100


def thin(curve: Curve, most: int = MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` steps and values, sorted by step; a value that is not finite becomes NaN."""
    steps, values = sorted_points(curve)
    if len(steps) <= most:
        return steps, values
    kept = [0, len(steps) - 1]
    # Each segment keeps up to three points: its minimum, its maximum and one value that is not finite.
    edges = np.linspace(0, len(steps), (most - 2) // 3 + 1).astype(int)
    for start, end in pairwise(edges):
        segment = values[start:end]
        gaps = np.isnan(segment)
        if gaps.any():
            kept.append(start + int(np.argmax(gaps)))
        if not gaps.all():
            kept += [start + int(np.nanargmin(segment)), start + int(np.nanargmax(segment))]
    order = np.unique(kept)
    return steps[order], values[order]


def sorted_points(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values as arrays, sorted by step; values that cannot be drawn are NaN.

    Points whose step is not finite are left out.
    """
    steps = np.asarray(curve.steps, dtype=float)
    values = np.asarray(curve.values, dtype=float)
    has_step = np.isfinite(steps)
    steps, values = steps[has_step], values[has_step]
    order = np.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    with np.errstate(invalid="ignore"):
        return steps, np.where(np.abs(values) <= LARGEST_DRAWABLE, values, np.nan)
