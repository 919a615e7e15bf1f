"""Fits of all scaling laws to the same measurements, what they say about a budget, and where the data are too thin.

N parameters, D tokens, C compute in FLOPs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from glasshouse.scaling import isoflop_law, parametric_law
from glasshouse.scaling.isoflop_law import IsoFLOPFit, PowerLaw
from glasshouse.scaling.measurements import LEAST_FLOPS, MOST_FLOPS, FewSizes, MeasuredLosses
from glasshouse.scaling.parametric_law import PARAMETRIC, REPEATED, ParametricFit
from glasshouse.scaling.regression import Array, LawEstimate, estimate
from glasshouse.scaling.scaling_options import RESAMPLES
from glasshouse.specs.errors import DataError

ISOFLOP, ENVELOPE = "IsoFLOP", "envelope"
# An interval of the exponent that is wider than this says little. A floor below this share of the lowest loss is none.
WIDE, NO_FLOOR = 0.5, 0.01
# If C / (N D) varies by a larger ratio between measurements, one factor for all is rough.
UNEVEN_FLOPS = 1.5
Fit = TypeVar("Fit", IsoFLOPFit, ParametricFit, PowerLaw)


@dataclass(frozen=True)
class LawPrediction:
    """What a law says about a budget: the best N and D, and the loss that they reach, if the law knows it.

    fits: whether the law is near the measured losses.
    """

    law: str
    parameters: LawEstimate
    tokens: LawEstimate
    loss: LawEstimate | None
    fits: bool


@dataclass(frozen=True)
class ScalingFit:
    """The laws that the measurements allow, and notes: what is missing and where the data are too thin.

    compared: the measurements that the IsoFLOP and parametric laws were fitted to. flops_factor: C / (N D), the same for
    all. different_tokens: how many tokens the data have, if that was given.
    """

    measurements: MeasuredLosses
    compared: MeasuredLosses
    flops_factor: float
    isoflop: IsoFLOPFit | None
    parametric: ParametricFit | None
    repeated: ParametricFit | None
    envelope: PowerLaw | None
    notes: tuple[str, ...]
    different_tokens: float | None = None

    @property
    def largest_budget(self) -> float:
        return float(self.measurements.flops.max())

    @property
    def laws(self) -> dict[str, IsoFLOPFit | ParametricFit | PowerLaw]:
        found = {ISOFLOP: self.isoflop, PARAMETRIC: self.parametric, REPEATED: self.repeated, ENVELOPE: self.envelope}
        return {name: law for name, law in found.items() if law is not None}

    @property
    def best_parametric(self) -> ParametricFit | None:
        found = [law for law in (self.parametric, self.repeated) if law is not None]
        return min(found, key=lambda law: law.information, default=None)

    def size_exponents(self) -> dict[str, LawEstimate]:
        """Law -> the exponent of C in the best N."""
        return {name: estimate(law.exponents, law.freedom) for name, law in self.laws.items()}

    @np.errstate(divide="ignore", invalid="ignore")
    def predict(self, budget: float, different_tokens: float | None = None) -> list[LawPrediction]:
        """The best model for a budget by each law. `different_tokens`: how many tokens the data have."""
        check_budget(budget)
        found = []
        for name, law in self.laws.items():
            sizes, tokens, losses = law.best(budget, budget / self.flops_factor, different_tokens)
            loss = None if losses is None else estimate(losses, law.freedom)
            best = estimate(sizes, law.freedom), estimate(tokens, law.freedom)
            found.append(LawPrediction(name, *best, loss, law.fits))
        return found


def check_budget(budget: float) -> None:
    if not LEAST_FLOPS <= budget <= MOST_FLOPS:
        raise DataError(f"must be from {LEAST_FLOPS:g} to {MOST_FLOPS:g} FLOPs; write one such as 1e15", "budget", budget)


def parse_budgets(text: str) -> list[float]:
    """Budgets from text such as "8e10,1.6e11"."""
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise DataError("is not a list of FLOPs; write it like 8e10,1.6e11,3.2e11", "budgets", text) from None


def fit_laws(
    measurements: MeasuredLosses,
    budgets: Sequence[float] | None = None,
    different_tokens: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Callable[[float], object] = lambda share: None,
) -> ScalingFit:
    """Fit every law that the measurements allow. `progress` is called with the share that is done.

    budgets: where IsoFLOP curves are taken; by default where several runs have nearly the same compute. Training curves need
    them. different_tokens: how many tokens the data have, if they were repeated.
    """
    for budget in budgets or ():
        check_budget(budget)
    if budgets is None and measurements.curves:
        raise DataError("training curves have no budgets of their own; name them, such as --budgets 8e10,1.6e11,3.2e11")
    compared = measurements
    if budgets is not None or not len(measurements.budgets):
        chosen = list(budgets) if budgets is not None else measurements.found_budgets()
        compared = measurements.at_budgets(chosen) if chosen else measurements
    whole = compared if measurements.curves else measurements
    errors: list[DataError] = []

    def tried(fit: Callable[[], Fit]) -> Fit | None:
        try:
            return fit()
        except DataError as error:
            errors.append(error)
            return None

    isoflop = tried(lambda: isoflop_law.fit(compared, resamples, seed))
    progress(0.1)
    parametric = tried(lambda: parametric_law.fit(whole, resamples, seed))
    progress(0.5)
    repeated = envelope = None
    if parametric is not None and different_tokens is not None and (whole.tokens > different_tokens).any():
        repeated = tried(lambda: parametric_law.fit(whole, resamples, seed, different_tokens))
    if measurements.curves:
        envelope = tried(lambda: isoflop_law.fit_envelope(measurements, resamples, seed))
    if isoflop is None and parametric is None and envelope is None:
        raise next((error for error in errors if isinstance(error, FewSizes)), errors[0])
    factors = whole.flops / (whole.parameters * whole.tokens)
    factor = float(np.exp(np.log(factors).mean()))
    found = ScalingFit(measurements, compared, factor, isoflop, parametric, repeated, envelope, (), different_tokens)
    return replace(found, notes=(*map(str, errors), *_thin(found, factors)))


def _thin(fit: ScalingFit, factors: Array) -> Iterator[str]:
    """Where the data are too thin, and what would help."""
    if fit.isoflop is not None:
        for budget in isoflop_law.few_sizes(fit.compared):
            yield f"at {budget:.3g} FLOPs there are fewer than {isoflop_law.LEAST_SIZES} sizes, and the budget is left out"
        for parabola in fit.isoflop.parabolas:
            if not parabola.inside:
                yield f"at {parabola.budget:.3g} FLOPs the minimum lies beyond the sizes; the budget is left out; add sizes"
            elif not parabola.usable:
                yield (
                    f"at {parabola.budget:.3g} FLOPs only {parabola.share_with_minimum:.0%} of the resamples have a "
                    "minimum, and the budget is left out; add sizes or seeds"
                )
    wide = [law for law, exponent in fit.size_exponents().items() if not exponent.high - exponent.low < WIDE]
    if wide:
        yield f"the interval of the exponent is wide ({', '.join(wide)}); add budgets further apart, sizes and seeds"
    if (found := fit.best_parametric) is not None:
        name = found.name
        if not found.fits:
            yield f"{name}: it deviates from the measured losses by {found.deviation:.0%}; this law does not fit these data"
        if found.law.floor < NO_FLOOR * fit.compared.losses.min():
            yield f"{name}: the data show no loss that remains at any size (E is near 0); losses far beyond them are too low"
        if found.starts_agreeing < 0.5:
            share = f"{found.starts_agreeing:.0%}"
            yield f"{name}: only {share} of the starts end at the best optimum; the coefficients are uncertain"
        if fit.repeated is not None and fit.parametric is not None:
            gap = abs(fit.repeated.information - fit.parametric.information)
            yield f"the data prefer the law {name} (difference in AICc {gap:.1f}{'; too small to tell' if gap < 2 else ''})"
    if fit.measurements.curves:
        yield (
            "losses along a curve are read before its learning rate has decayed: exponents may be biased unless every "
            "budget had its own runs"
        )
    elif len({*zip(fit.measurements.parameters, fit.measurements.tokens, strict=True)}) == len(fit.measurements):
        yield "one seed for each size and budget: the noise is estimated from deviations from the curves alone"
    if factors.max() / factors.min() > UNEVEN_FLOPS:
        yield f"C / (N D) varies from {factors.min():.2g} to {factors.max():.2g}; one for all is {fit.flops_factor:.2g}"
