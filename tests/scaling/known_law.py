"""MeasuredLosses that are drawn from a known law, with noise."""

from dataclasses import replace

import numpy as np

from glasshouse.scaling.measurements import FLOPS_PER_PARAMETER_AND_TOKEN, MeasuredLosses
from glasshouse.scaling.parametric_law import ParametricLaw

LAW = ParametricLaw(1.69, 406.4, 410.7, 0.34, 0.28)
BUDGETS = tuple(1e15 * 2.0**power for power in range(6))
FACTORS = (0.3, 0.5, 0.8, 1.3, 2.0, 3.3)


def draw(seed: int, noise: float = 0.003, seeds: int = 3, factors=FACTORS, budgets=BUDGETS, law=LAW) -> MeasuredLosses:
    """For each budget sizes around the best one, each with several seeds."""
    rows = []
    for budget in budgets:
        product = budget / FLOPS_PER_PARAMETER_AND_TOKEN
        for factor in factors:
            size = law.best_parameters(product) * factor
            rows += [(size, product / size, budget)] * seeds
    parameters, tokens, flops = np.array(rows).T
    errors = np.random.default_rng(seed).standard_normal(len(rows))
    losses = law.loss(parameters, tokens) * np.exp(noise * errors)
    return MeasuredLosses(parameters, tokens, flops, losses, np.arange(len(rows)))


def uneven(seed: int = 0) -> MeasuredLosses:
    """As `draw`, with losses that are 15 % higher at every second budget: parabolas fit them, and no parametric law does."""
    table = draw(seed)
    higher = np.isin(table.flops, BUDGETS[1::2])
    return replace(table, losses=np.where(higher, 1.15, 1.0) * table.losses)


def curves(seed: int, sizes=(1e6, 3e6, 1e7, 3e7, 1e8, 3e8), noise: float = 0.002, law=LAW) -> MeasuredLosses:
    """Training curves: 40 points for each size, as if every point had its own schedule."""
    generator = np.random.default_rng(seed)
    columns = []
    for run, size in enumerate(sizes):
        tokens = np.geomspace(1e7, 1e11, 40)
        losses = law.loss(size, tokens) * np.exp(noise * generator.standard_normal())
        columns.append((np.full(40, size), tokens, 6 * size * tokens, losses, np.full(40, run)))
    parameters, tokens, flops, losses, runs = map(np.concatenate, zip(*columns, strict=True))
    return MeasuredLosses(parameters, tokens, flops, losses, runs.astype(np.int64))


def better_law(factor: float, growth: float = 0.0, at: float = BUDGETS[0], law=LAW) -> ParametricLaw:
    """The law of a recipe whose compute C is worth `factor` C (C / at)^growth to the law.

    N and D become c N^(1 + growth) and c D^(1 + growth), so that 6 N D becomes factor C (C / at)^growth.
    """
    scale = np.sqrt(factor * (FLOPS_PER_PARAMETER_AND_TOKEN / at) ** growth)
    a, b = law.parameter_exponent, law.token_exponent
    scales = law.parameter_scale * scale**-a, law.token_scale * scale**-b
    return ParametricLaw(law.floor, *scales, a * (1 + growth), b * (1 + growth))
