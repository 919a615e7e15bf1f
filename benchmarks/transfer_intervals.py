"""How often the 95 % intervals of `glasshouse scale transfer` contain the true compute multiplier of two known laws.

    python benchmarks/transfer_intervals.py            # 200 simulations of 200 resamples for each design: minutes
    python benchmarks/transfer_intervals.py --smoke    # does it run? A few seconds, and no figure worth keeping

A has the law of Hoffmann et al. (2022), L = 1.69 + 406.4 / N^0.34 + 410.7 / D^0.28, and six budgets from 1e15 to 3.2e16
FLOPs with six sizes each. The compute C of B is worth k C, with k = factor (C / 1e15)^growth. The table also says how often
growth was found, in either direction.
"""

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from glasshouse.records import progress_bar
from glasshouse.scaling import recipe_transfer, scaling_fit
from glasshouse.scaling.measurements import FLOPS_PER_PARAMETER_AND_TOKEN, MeasuredLosses
from glasshouse.scaling.parametric_law import ParametricLaw
from glasshouse.scaling.scaling_fit import ScalingFit

LAW = ParametricLaw(1.69, 406.4, 410.7, 0.34, 0.28)
BUDGETS = [1e15 * 2.0**power for power in range(6)]
NARROW, WIDE = (0.3, 0.5, 0.8, 1.3, 2.0, 3.3), (0.1, 0.25, 0.6, 1.5, 4.0, 10.0)
# Design -> factor and growth of k, noise of the loss (a share of it), seeds, sizes as multiples of the best.
DESIGNS = {
    "k = 2, 3 seeds, noise 0.3 %, sizes 0.3 to 3.3": (2.0, 0.0, 0.003, 3, NARROW),
    "k from 2 to 4, 3 seeds, noise 0.3 %, sizes 0.3 to 3.3": (2.0, 0.2, 0.003, 3, NARROW),
    "k = 1, 1 seed, noise 0.5 %, sizes 0.1 to 10": (1.0, 0.0, 0.005, 1, WIDE),
}
QUANTITIES = ("smallest C", "largest C", "growth")


def law_worth(factor: float, growth: float) -> ParametricLaw:
    """The law of B: N and D become c N^(1 + growth) and c D^(1 + growth), so that 6 N D becomes k C."""
    scale = np.sqrt(factor * (FLOPS_PER_PARAMETER_AND_TOKEN / BUDGETS[0]) ** growth)
    a, b = LAW.parameter_exponent, LAW.token_exponent
    scales = LAW.parameter_scale * scale**-a, LAW.token_scale * scale**-b
    return ParametricLaw(LAW.floor, *scales, a * (1 + growth), b * (1 + growth))


def fit(law: ParametricLaw, noise: float, seeds: int, factors: tuple[float, ...], resamples: int, seed: int) -> ScalingFit:
    rows = []
    for budget in BUDGETS:
        product = budget / FLOPS_PER_PARAMETER_AND_TOKEN
        sizes = law.best_parameters(product) * np.repeat(factors, seeds)
        rows += [(size, product / size, budget) for size in sizes]
    parameters, tokens, flops = np.array(rows).T
    losses = law.loss(parameters, tokens) * np.exp(noise * np.random.default_rng(seed).standard_normal(len(rows)))
    # The random numbers of the resamples are not those of the noise.
    table = MeasuredLosses(parameters, tokens, flops, losses, np.arange(len(rows)))
    return scaling_fit.fit_laws(table, resamples=resamples, seed=seed + 10**6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.simulations, options.resamples = 2, 20
    table = Table("design", "method", *QUANTITIES, "growth found")
    for design, (factor, growth, noise, seeds, factors) in DESIGNS.items():
        span = (BUDGETS[-1] / BUDGETS[0]) ** growth
        truths = (factor, factor * span, span)
        held: dict[str, list[list[bool]]] = {}
        with progress_bar.bar(design) as show:
            for seed in range(options.simulations):
                fit_a = fit(LAW, noise, seeds, factors, options.resamples, 2 * seed)
                fit_b = fit(law_worth(factor, growth), noise, seeds, factors, options.resamples, 2 * seed + 1)
                for found in recipe_transfer.compare(fit_a, fit_b).methods:
                    intervals = (found.low.ratio, found.high.ratio, found.growth)
                    inside = [each.low <= truth <= each.high for each, truth in zip(intervals, truths, strict=True)]
                    held.setdefault(found.method, []).append([*inside, recipe_transfer.decided(found.growth) != 0])
                show((seed + 1) / options.simulations)
        for method, rows in held.items():
            table.add_row(design, method, *(f"{share:.1%}" for share in np.mean(rows, axis=0)))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
