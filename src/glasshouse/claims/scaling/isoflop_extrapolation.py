"""Claim: IsoFLOP curves are parabolas, their minima follow a power law, and it predicts 1e10 parameters for 1e15 FLOPs."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series
from glasshouse.claims.rules import equal, higher
from glasshouse.claims.scaling import equal_compute
from glasshouse.claims.scaling.equal_compute import SOURCE, TOKENS, arm_name, parameters
from glasshouse.scaling import isoflop_law
from glasshouse.scaling.isoflop_law import IsoFLOPFit
from glasshouse.scaling.measurements import MeasuredLosses
from glasshouse.specs.errors import DataError

# Name of a budget -> FLOPs.
BUDGETS = {"8e10": 8e10, "1.6e11": 1.6e11, "3.2e11": 3.2e11, "6.4e11": 6.4e11, "1.28e12": 1.28e12}
# The same at every budget: the minimum of a parabola through a curve that is not quite one depends on the range of sizes.
WIDTHS = (16, 24, 32, 48, 64, 96)
TUNE = "training.learning_rate=1e-3,2e-3,4e-3,8e-3,1.6e-2,3.2e-2"
# One law is fitted to so many seeds: with the losses of a single one, some budgets have no certain minimum.
BLOCK = 2
TARGET = 1e15
REPORTED_SIZE, REPORTED_EXPONENT, OTHER_EXPONENT = 1e10, 0.435, 0.39
# In powers of ten: a factor of about three. A plot is read off more finely.
SIZE_MARGIN = 0.5
EXPONENT_MARGIN = 0.1
# Of the wild bootstrap that tells whether a budget has a minimum.
RESAMPLES = 400
PER = f"block of {BLOCK} seeds"


def study_name(budget: str) -> str:
    """The name of a budget's study."""
    return f"at-{budget}"


class IsoFLOPExtrapolation(Claim):
    """Trains six widths at each of five budgets, and fits a power law through the minima of the parabolas."""

    group = GROUPS[6]
    statement = (
        "For each budget the loss is a parabola in log N, and the best N follows a power law in compute; extrapolated to "
        "1e15 FLOPs it is 1e10 parameters."
    )
    source = "course work on scaling: IsoFLOP curves of the decoder-only Pig Latin translator"
    reported = (
        f"1e10 parameters for 1e15 FLOPs, read off a plot; exponents of {REPORTED_EXPONENT:g} and {OTHER_EXPONENT:g} were "
        "fitted to such curves, which give a few million"
    )
    why = (
        "At a fixed budget a small model is limited by its size and a large one by its few steps, so the loss has a "
        "minimum between. But 1e15 is about 800 times the largest budget, and a line on a logarithmic plot is easily "
        "misread."
    )
    procedure = (
        f"At five budgets, from {min(BUDGETS, key=float)} to {max(BUDGETS, key=float)} FLOPs, hidden sizes "
        f"{', '.join(map(str, WIDTHS))} of the course's decoder-only translator are trained on the course's small list. "
        f"FLOPs are counted for sequences of {TOKENS} tokens, their mean. N leaves out the embedding and includes the "
        "head. Every size has at every budget the best of six learning rates, chosen once on the validation words. The "
        "test loss of the checkpoint with the lowest validation loss counts. Sizes and rates were set after an "
        f"exploration on the generated list. Each block of {BLOCK} seeds is one unit: at each budget a parabola in log N "
        "is fitted to its test losses, and a power law through the minima. A budget without a certain minimum between its "
        "sizes is left out, and a unit with fewer than two such budgets has no value. The claim needs an exponent above "
        f"0, where {EXPONENT_MARGIN:g} would be too small to matter, and a best N at 1e15 FLOPs that is within a factor of "
        f"{10**SIZE_MARGIN:.1f} of 1e10. Beside it, the exponent is compared with {REPORTED_EXPONENT:g}."
    )
    would_change = (
        "Larger budgets, at which the small list is repeated many times and the minima may move; or another way to count "
        "parameters or FLOPs, which changes the exponent."
    )
    needs = (SOURCE,)
    looks = (16,)
    studies = tuple(equal_compute.plan(study_name(budget), WIDTHS, flops, TUNE) for budget, flops in BUDGETS.items())
    quantities: ClassVar = {
        **{
            f"loss/{budget}/{width}": Quantity(
                f"test loss, {budget} FLOPs, h {width}, {parameters(width):,} parameters", "test.loss", "nats per character"
            )
            for budget in BUDGETS
            for width in WIDTHS
        },
        **{
            f"best/{budget}": Quantity(f"log10 of the best N, {budget} FLOPs", "minimum of the parabola", per=PER)
            for budget in BUDGETS
        },
        **{
            f"deviation/{budget}": Quantity(
                f"deviation of the losses from the parabola, {budget} FLOPs", "root mean square", "%", 100.0, per=PER
            )
            for budget in BUDGETS
        },
        "exponent": Quantity(
            "exponent of the best N in compute",
            "power law through the minima",
            reported=f"{REPORTED_EXPONENT:g} and {OTHER_EXPONENT:g}",
            per=PER,
        ),
        "size": Quantity(
            "log10 of the best N at 1e15 FLOPs",
            "extrapolated power law",
            reported=f"{math.log10(REPORTED_SIZE):g}",
            per=PER,
        ),
    }
    parts = (
        higher("exponent", than=0.0, margin=EXPONENT_MARGIN, name="the best N grows with compute"),
        equal("size", to=math.log10(REPORTED_SIZE), margin=SIZE_MARGIN, name="the best N at 1e15 FLOPs is 1e10"),
        equal(
            "exponent",
            to=REPORTED_EXPONENT,
            margin=EXPONENT_MARGIN,
            name=f"the exponent is {REPORTED_EXPONENT:g}",
            decides=False,
        ),
    )
    figures = (
        LineFigure(
            "losses",
            "parameters without the embedding",
            "test loss, nats per character",
            {f"{budget} FLOPs": {parameters(width): f"loss/{budget}/{width}" for width in WIDTHS} for budget in BUDGETS},
        ),
        LineFigure(
            "optimum",
            "training FLOPs",
            "log10 of the best number of parameters",
            {"minima": {flops: f"best/{budget}" for budget, flops in BUDGETS.items()}},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts: list[tuple[str, str]] = []
        for budget in BUDGETS:
            study = bench.study(study_name(budget))
            facts += bench.facts(study)
            for width in WIDTHS:
                series[f"loss/{budget}/{width}"] = bench.values(study, arm_name(study.name, width), "test.loss")
        series |= fit_blocks(series)
        for budget in BUDGETS:
            found = series.get(f"best/{budget}", Series({})).values.values()
            text = f"{sum(map(math.isfinite, found))} of {len(found)} blocks of seeds" if found else "no block of seeds"
            facts.append((f"a certain minimum between the sizes, {budget} FLOPs", text))
        return Measurements(series, tuple(facts))


def fit_blocks(losses: Mapping[str, Series]) -> dict[str, Series]:
    """Quantity -> block -> value. Without a power law the exponent and the size are NaN; left out if no block has one."""
    seeds = sorted(set.intersection(*(set(series.values) for series in losses.values())))
    found: dict[str, dict[int, float]] = {}
    for block in range(math.ceil(len(seeds) / BLOCK)):
        values = fit_seeds(losses, seeds[block * BLOCK : (block + 1) * BLOCK])
        for key, value in values.items():
            found.setdefault(key, {})[block] = value
    # A part whose every value is NaN would count as diverged. Without any value it is undecided.
    return {key: Series(values) for key, values in found.items() if any(map(math.isfinite, values.values()))}


def fit_seeds(losses: Mapping[str, Series], seeds: Sequence[int]) -> dict[str, float]:
    """Quantity -> its value in one block of seeds. A run that diverged is left out."""
    measured = [
        (flops, width, losses[f"loss/{budget}/{width}"].values[seed])
        for budget, flops in BUDGETS.items()
        for width in WIDTHS
        for seed in seeds
    ]
    rows = [
        (parameters(width), equal_compute.tokens_for(width, flops), loss, flops)
        for flops, width, loss in measured
        if math.isfinite(loss)
    ]
    sizes, tokens, values, compute = np.array(rows, dtype=float).reshape(-1, 4).T
    try:
        law = isoflop_law.fit(MeasuredLosses(sizes, tokens, compute, values, np.arange(len(rows)), compute), RESAMPLES)
    except DataError:
        return {"exponent": math.nan, "size": math.nan}
    return {
        "exponent": float(law.sizes.exponents[0]),
        "size": math.log10(law.sizes.at(TARGET)[0]),
        **describe_parabolas(law),
    }


def describe_parabolas(law: IsoFLOPFit) -> dict[str, float]:
    """The best N of each budget, NaN where it is not certain, and how far the losses are from the parabola."""
    names = {flops: budget for budget, flops in BUDGETS.items()}
    found = {}
    for parabola in law.parabolas:
        budget = names[parabola.budget]
        found[f"best/{budget}"] = parabola.log_best / math.log(10) if parabola.usable else math.nan
        relative = parabola.losses / parabola.loss(parabola.log_parameters) - 1
        found[f"deviation/{budget}"] = float(np.sqrt(np.mean(relative**2)))
    return found
