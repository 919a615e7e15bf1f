"""Two recipes compared by their fitted scaling curves: how much compute is B worth, and does that grow with scale?

The compute multiplier k(C): A needs k(C) times the compute C to reach the loss that B reaches with C. The resamples of both
fits are paired row by row; they are independent if the fits had different seeds. The interval has the degrees of freedom of
the fit that has fewer, which is a little wide if the other fit has more noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from glasshouse import formatting
from glasshouse.scaling import loss_frontier, regression, scale_study
from glasshouse.scaling.loss_frontier import MethodFrontier
from glasshouse.scaling.regression import Array, LawEstimate
from glasshouse.scaling.scale_study import FILE
from glasshouse.scaling.scaling_fit import ScalingFit
from glasshouse.specs import spec_files
from glasshouse.specs.errors import DataError
from glasshouse.studies import study_values

TOKENIZER_FIELDS = ("tokenizer", "tokenizer_file", "vocabulary", "pattern")
# The largest compute that both recipes measured must be so many times the smallest.
LEAST_RANGE = 1.5
# Places of k(C) between the ends of the common range.
PLACES = 40
# Stands for the logarithm of an infinite k in quantiles; one above LARGEST_LOG is read as infinite.
INFINITE_LOG, LARGEST_LOG = 1e6, 690.0
# A compute this close to the measured range counts as measured.
NEARLY = 1.1


@dataclass(frozen=True)
class ComputeMultiplier:
    """k at the compute `flops`."""

    flops: float
    ratio: LawEstimate


@dataclass(frozen=True)
class MethodTransfer:
    """k by one method, over the compute that both recipes measured: the smallest compute first.

    curves: the frontiers of A and B. growth: k at the largest compute over k at the smallest. per_tenfold: the growth for
    each tenfold compute.
    """

    method: str
    curves: tuple[MethodFrontier, MethodFrontier]
    places: Sequence[ComputeMultiplier]
    growth: LawEstimate
    per_tenfold: LawEstimate

    @property
    def low(self) -> ComputeMultiplier:
        return self.places[0]

    @property
    def high(self) -> ComputeMultiplier:
        return self.places[-1]

    @property
    def extrapolation(self) -> float:
        """How far A is extrapolated: the compute that it needs over its largest measured one, or, below 1, its smallest."""
        measured = self.curves[0]
        needed = [place.ratio.value * place.flops for place in (self.low, self.high)]
        above, below = max(needed) / measured.highest, min(needed) / measured.lowest
        return above if above > NEARLY else below if below < 1 / NEARLY else 1.0

    @property
    def beyond(self) -> str:
        factor = self.extrapolation
        if factor == 1:
            return ""
        if math.isinf(factor):
            return "never reaches the loss"
        if factor > 1:
            return f"{factor:.2g} times its largest measured compute"
        return f"1/{1 / factor:.2g} of its smallest measured compute"


@dataclass(frozen=True)
class RecipeTransfer:
    """Two recipes, A and B, compared by every method that the measurements of both allow."""

    a: str
    b: str
    methods: Sequence[MethodTransfer]
    notes: tuple[str, ...]

    @property
    def verdicts(self) -> list[str]:
        return [_verdict(method, self.a, self.b) for method in self.methods]


def check_sources(a: str | PathLike[str], b: str | PathLike[str]) -> list[str]:
    """Refuse two sources, studies or CSV files, whose losses cannot be compared.

    The notes say what differs without harm, or is not known.
    """
    studies = [scale_study.find(each) for each in (a, b) if scale_study.is_study_name(each)]
    files = [Path(each) for each in (a, b) if not scale_study.is_study_name(each)]
    paths = [each.path for each in studies] + files
    if paths[0].resolve() == paths[1].resolve():
        raise DataError(f"both names mean {paths[0]}, and two studies are compared; name another one")
    if files:
        names = " and ".join(file.name for file in files)
        return [f"{names}: nothing tells the data, metric and tokenizer of a file; other losses are not comparable"]
    a, b = (study.name for study in studies)
    specs = [spec_files.from_toml(study.sizes[0].spec, str(study.path / FILE)) for study in studies]
    first, second = (f"{study.metric} of the task {spec.task}" for study, spec in zip(studies, specs, strict=True))
    if first != second:
        raise DataError(f"{a} measures {first}, and {b} measures {second}; plan both with the same task and data splits")
    prints = [study.sizes[0].facts.get("data") for study in studies]
    if None not in prints and prints[0] != prints[1]:
        first, second = (spec.data.source or ", ".join(spec.data.files) for spec in specs)
        raise DataError(f"the texts or splits differ ({a}: {first}, {b}: {second}); plan both with the same data")
    differing = [name for name in TOKENIZER_FIELDS if len({getattr(spec.data, name) for spec in specs}) > 1]
    if differing and study_values.metric_declaration(studies[0].metric, specs[0].task).per_token:
        first, second = (", ".join(f"data.{name}={getattr(spec.data, name)}" for name in differing) for spec in specs)
        raise DataError(f"the tokenizers differ ({a}: {first}; {b}: {second}), and losses are per token; plan both with one")
    notes = []
    if None in prints:
        notes.append("a study does not record its data, so that it is not known whether both have the same")
    first, second = (f"{spec.data.context}" for spec in specs)
    if first != second:
        notes.append(f"the contexts differ ({first} and {second} tokens): predictions from more context have a lower loss")
    return notes


def compare(fit_a: ScalingFit, fit_b: ScalingFit, a: str = "A", b: str = "B") -> RecipeTransfer:
    """Compare two recipes by their fits. Both have the same number of resamples, drawn with different seeds."""
    of_a, of_b = ({each.method: each for each in loss_frontier.frontiers(fit)} for fit in (fit_a, fit_b))
    methods, notes, apart = [], [], []
    for method in loss_frontier.METHODS:
        missing = [name for name, found in ((a, of_a), (b, of_b)) if method not in found]
        if missing:
            notes.append(f"no comparison by the method {method}, because {' and '.join(missing)} cannot be fitted by it")
            continue
        curves = of_a[method], of_b[method]
        common = max(curve.lowest for curve in curves), min(curve.highest for curve in curves)
        if common[1] < LEAST_RANGE * common[0]:
            first, second = (f"{curve.lowest:.3g} to {curve.highest:.3g}" for curve in curves)
            apart.append(f"{method}: {a} has {first} FLOPs, and {b} has {second}")
        else:
            methods.append(_compare_by(method, *curves, common))
    by_fit = [f"{name}: {note}" for name, fit in ((a, fit_a), (b, fit_b)) for note in fit.notes]
    if not methods and apart:
        raise DataError(f"the common compute must span {LEAST_RANGE:g} times ({'; '.join(apart)}); plan the same budgets")
    if not methods:
        raise DataError(f"no method fits both {a} and {b}; measure more ({'; '.join((*notes, *by_fit))})")
    notes += apart
    if len(methods) > 1 and _disagree(*methods):
        notes.append("the methods disagree: their intervals of the multiplier do not overlap; look at the fit of each study")
    return RecipeTransfer(a, b, methods, (*notes, *by_fit))


def _compare_by(method: str, of_a: MethodFrontier, of_b: MethodFrontier, common: tuple[float, float]) -> MethodTransfer:
    log_flops = np.linspace(np.log(common[0]), np.log(common[1]), PLACES)
    freedom = min(of_a.freedom, of_b.freedom)
    # (rows, places): the first row is the fit, the others are resamples.
    log_ratios = of_a.frontier.log_flops(of_b.frontier.losses(log_flops)) - log_flops
    places = [
        ComputeMultiplier(float(np.exp(place)), _estimate(column, freedom))
        for place, column in zip(log_flops, log_ratios.T, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        growth = log_ratios[:, -1] - log_ratios[:, 0]  # not a number where both are infinite
    decades = (log_flops[-1] - log_flops[0]) / np.log(10)
    return MethodTransfer(method, (of_a, of_b), places, _estimate(growth, freedom), _estimate(growth / decades, freedom))


def _estimate(logarithms: Array, freedom: int) -> LawEstimate:
    """A ratio with its interval, from its logarithm in the fit and in the resamples.

    An infinite resample counts as infinite. One that is not a number may be anything, and widens the interval at both ends.
    """
    clipped = np.clip(logarithms, -INFINITE_LOG, INFINITE_LOG)
    ends = [
        regression.interval(np.where(np.isnan(clipped[1:]), unknown, clipped[1:]), freedom)[end]
        for end, unknown in enumerate((-INFINITE_LOG, INFINITE_LOG))
    ]
    value, low, high = (
        math.inf if each > LARGEST_LOG else 0.0 if each < -LARGEST_LOG else float(np.exp(each))
        for each in (clipped[0], *ends)
    )
    return LawEstimate(value, low, high)


def _disagree(one: MethodTransfer, other: MethodTransfer) -> bool:
    """Whether the intervals of two methods do not overlap at an end of the common range."""
    pairs = [(one.low.ratio, other.low.ratio), (one.high.ratio, other.high.ratio)]
    return any(first.low > second.high or second.low > first.high for first, second in pairs)


def decided(ratio: LawEstimate) -> int:
    """1 if the interval lies above 1, -1 if it lies below 1, and 0 if it contains 1."""
    return 1 if ratio.low > 1 else -1 if ratio.high < 1 else 0


def ratio_interval(ratio: LawEstimate, unit: str = "") -> str:
    """A ratio with its interval: "2.10 (1.70 to 2.60)", or "2.10 (more than 1.70)" if it may be infinite.

    `unit` follows the value.
    """
    value, low, high = (_three_digits(each) for each in (ratio.value, ratio.low, ratio.high))
    if math.isnan(ratio.value):
        return "unknown"
    if math.isinf(ratio.low):
        return f"infinitely many{unit}" if unit else "infinite"
    if math.isinf(ratio.value):
        return f"more than {low}{unit}"
    if math.isinf(ratio.high):
        return f"{value}{unit} ({f'more than {low}' if ratio.low else 'the interval has no bounds'})"
    return f"{value}{unit} ({low} to {high})"


def _three_digits(value: float) -> str:
    if not math.isfinite(value):
        return f"{value}"
    return f"{value:#.3g}".rstrip(".") if 1e-3 < value < 999.5 else formatting.short_number(float(f"{value:.3g}"))


def _verdict(found: MethodTransfer, a: str, b: str) -> str:
    low, high = found.low, found.high
    unit = " times the compute"
    beyond = f" This extrapolates {a} to {found.beyond}." if found.beyond else ""
    if math.isinf(found.extrapolation):
        beyond = f" By this law {a} {found.beyond}."
    return (
        f"{_conclusion(found, a, b)}, by the method {found.method}. For the loss that {b} reaches with {low.flops:.3g} "
        f"FLOPs, {a} needs {ratio_interval(low.ratio, unit)}. For the loss with {high.flops:.3g} FLOPs it needs "
        f"{ratio_interval(high.ratio, unit)}. Each tenfold compute multiplies this factor by "
        f"{ratio_interval(found.per_tenfold)}.{beyond}"
    )


def _conclusion(found: MethodTransfer, a: str, b: str) -> str:
    first, last, growth = decided(found.low.ratio), decided(found.high.ratio), decided(found.growth)
    low, high = (f"{place.flops:.3g} FLOPs" for place in (found.low, found.high))
    if first * last < 0:
        smaller, larger = (b, a) if first > 0 else (a, b)
        return f"{smaller} needs less compute at {low}, and {larger} at {high}"
    leads = first or last
    if not leads:
        but = f", but the multiplier {'grows' if growth > 0 else 'shrinks'} with scale" if growth else ""
        return f"No difference in compute between {a} and {b} is shown{but}"
    better, other = (b, a) if leads > 0 else (a, b)
    change = f"the advantage {'grows' if growth == leads else 'shrinks'} with scale"
    if not growth:
        change = "whether the advantage grows with scale is not decided"
    where = "for the same loss"
    if not (first and last):
        shown, open_ = (low, high) if first else (high, low)
        where = f"at {shown}, no difference is shown at {open_}"
    return f"{better} needs less compute than {other} {where}, and {change}"
