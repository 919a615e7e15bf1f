"""Long curves made short enough to draw: every dip, spike and gap stays. Knows nothing of how they are drawn."""

from itertools import pairwise

import numpy as np

from glasshouse.pages.report_content import Curve

MOST_POINTS = 1000
# Beyond this a value says "diverged" as plainly as infinity does, and its square would overflow.
LARGEST_DRAWABLE = 1e100


def thin(curve: Curve, most: int = MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values in order of step, at most `most` of them; NaN stands where values are not finite."""
    steps, values = drawable(curve)
    if len(steps) <= most:
        return steps, values
    kept = [0, len(steps) - 1]
    # Three from each stretch: its lowest, its highest, and one value that is not finite, if any.
    edges = np.linspace(0, len(steps), (most - 2) // 3 + 1).astype(int)
    for start, end in pairwise(edges):
        stretch = values[start:end]
        gaps = np.isnan(stretch)
        if gaps.any():
            kept.append(start + int(np.argmax(gaps)))
        if not gaps.all():
            kept += [start + int(np.nanargmin(stretch)), start + int(np.nanargmax(stretch))]
    order = np.unique(kept)
    return steps[order], values[order]


def drawable(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """The curve as arrays in order of step, NaN for what cannot be drawn; points without a finite step are left out."""
    steps = np.asarray(curve.steps, dtype=float)
    values = np.asarray(curve.values, dtype=float)
    placed = np.isfinite(steps)
    steps, values = steps[placed], values[placed]
    order = np.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    with np.errstate(invalid="ignore"):
        return steps, np.where(np.abs(values) <= LARGEST_DRAWABLE, values, np.nan)
