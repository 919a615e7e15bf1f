"""The wild bootstrap: resampled measurements for a regression whose noise may differ from point to point.

Each residual is multiplied by a random weight of mean 0 and variance 1 and added to the fit. MeasuredLosses of one run
share their weight, because they err together. Residuals are made larger first, because a fit is closer to its own
measurements than to new ones: divided by 1 minus their leverage (HC3 of MacKinnon and White, 1985), or by its root (HC2).
`benchmarks/scaling_intervals.py` decided which: HC2 for parabolas of few points, which HC3 makes too wide, HC3 otherwise.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Array = NDArray[np.float64]
# Six values of equal probability (Webb, 2023): with few runs, signs alone would give few different resamples.
WEBB = np.sqrt(np.array([0.5, 1.0, 1.5]))
WEIGHTS = np.concatenate([-WEBB, WEBB])
# A leverage of 1 would say that a point is fitted exactly, whatever its value.
MOST_LEVERAGE = 0.9
# The power of 1 minus the leverage.
HC2, HC3 = 0.5, 1.0


def leverages(derivatives: Array, weights: Array | None = None) -> Array:
    """The leverage (M) of each measurement in a regression with these derivatives (M, K)."""
    root = derivatives if weights is None else derivatives * np.sqrt(weights)[:, None]
    inverse = np.linalg.pinv(root.T @ root)
    return np.asarray(np.clip(np.einsum("mk,kl,ml->m", root, inverse, root), 0.0, MOST_LEVERAGE))


def resamples(
    fitted: Array, residuals: Array, leverage: Array, runs: NDArray[np.int64], count: int, seed: int, power: float = HC3
) -> Array:
    """`count` resamples (count, M) of measurements. `runs` (M) numbers the run of each; `power` is HC2 or HC3."""
    generator = np.random.default_rng(seed)
    weights = generator.choice(WEIGHTS, (count, int(runs.max()) + 1))[:, runs]
    return np.asarray(fitted + weights * residuals / (1 - leverage) ** power)


def interval(values: Array, freedom: float, level: float = 0.95) -> tuple[float, float]:
    """The interval of a quantity from its values (R) in resamples, for noise with so many degrees of freedom.

    The quantiles lie a little further out than those of `level`, as Student's t does beyond the normal distribution: the
    noise is estimated too (the expanded percentile interval of Hesterberg, 2015).
    """
    outside = float(ndtr(stdtrit(max(freedom, 1.0), (1 - level) / 2)))
    low, high = np.quantile(values, [outside, 1 - outside], method="weibull")
    return float(low), float(high)
