"""Made-up values of eight seeds around a mean, on which the tests try the rules of the claims."""

import math

# Deviations that are different in every seed and sum to zero.
NOISE = (0.3, -0.1, -0.4, 0.2, 0.1, -0.3, 0.4, -0.2)
COARSE_NOISE = (0.0, 0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015)
DIVERGED = dict.fromkeys(range(8), math.nan)


def close_values(mean: float, noise: float = 0.001, shift: int = 0) -> dict[int, float]:
    """Eight seeds close to a mean. Another `shift` gives each seed another deviation, so that pairs do not move together."""
    return {seed: mean + noise * NOISE[(seed + shift) % len(NOISE)] for seed in range(len(NOISE))}


def spread_values(mean: float, scale: float = 1.0, shift: int = 0) -> dict[int, float]:
    """Eight seeds that deviate from a mean by up to 0.02 * scale; `shift` as in `close_values`."""
    return {seed: mean + scale * COARSE_NOISE[(seed + shift) % len(COARSE_NOISE)] for seed in range(len(COARSE_NOISE))}
