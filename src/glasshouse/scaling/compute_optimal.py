"""Is a run compute-optimal? Its size against the best one for its compute, and what the difference costs.

N parameters, D tokens, C compute in FLOPs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from glasshouse.formatting import count, short_number
from glasshouse.scaling.regression import LawEstimate, estimate
from glasshouse.scaling.scaling_fit import ScalingFit, check_budget
from glasshouse.specs.errors import DataError

# How parameters are counted: published exponents differ mostly by that.
ALL, WITHOUT_EMBEDDINGS, WITH_HEAD = COUNTS = ("all", "without-embeddings", "without-embeddings-with-head")
# The loss hardly changes within this factor around the best size.
CLOSE = 1.5
EMBEDDING, HEAD = "embedding", "head"
EMBEDDINGS = (EMBEDDING, "position", "segments")


@dataclass(frozen=True)
class TrainedSize:
    parameters: float
    tokens: float


@dataclass(frozen=True)
class OptimumCheck:
    """A run beside the best one for its compute.

    ratio: N over the best N. longer: how many times the tokens make this N the best, with more compute or less. gain: by how
    much the loss would be lower at the best N, by the parametric law.
    """

    law: str
    size: TrainedSize
    flops: float
    ratio: LawEstimate
    best: TrainedSize
    longer: float
    gain: LawEstimate | None
    beyond: float

    @property
    def verdict(self) -> str:
        ratio, remedy, beyond = self.ratio, "", ""
        if ratio.low > CLOSE:
            answer = "This run is not compute-optimal: it is too large and was trained too briefly"
            remedy = f" Make it {_short(ratio.value)} times smaller, or train it {_short(self.longer)} times longer."
        elif ratio.high < 1 / CLOSE:
            answer = "This run is not compute-optimal: it is too small and was trained too long"
            remedy = f" Make it {_short(1 / ratio.value)} times larger."
        elif 1 / CLOSE <= ratio.low <= ratio.high <= CLOSE:
            answer = "This run is close to compute-optimal"
        else:
            answer = "Whether this run is compute-optimal is not decided"
        change = (
            f"The same compute would train {count(self.best.parameters)} parameters on {count(self.best.tokens)} "
            f"tokens instead of {count(self.size.parameters)} on {count(self.size.tokens)}"
        )
        if self.gain is not None:
            change += f", for a loss that is lower by {self.gain.value:.2g} ({self.gain.low:.2g} to {self.gain.high:.2g})"
        if self.beyond > 1:
            beyond = f" Its compute is {_short(self.beyond)} times the largest measured one."
        return (
            f"{answer}. N is {_short(ratio.value)} times the optimum for its compute, 95 % interval ({_short(ratio.low)} to "
            f"{_short(ratio.high)}), by the law {self.law}.{remedy} {change}.{beyond}"
        )


def check_size(fit: ScalingFit, size: TrainedSize) -> list[OptimumCheck]:
    """Compare a size with the best one for its compute, by every law that fits; by all if none does."""
    for name, value in (("parameters", size.parameters), ("tokens", size.tokens)):
        if not (np.isfinite(value) and value > 0):
            raise DataError(f"the number of {name} is {value:g} and must be above 0")
    flops = fit.flops_factor * size.parameters * size.tokens
    check_budget(flops)
    gain = None
    if (law := fit.best_parametric) is not None and law.fits:
        _, _, lowest = law.best(flops, size.parameters * size.tokens, None)
        gain = estimate(law.laws.loss(size.parameters, size.tokens) - lowest, law.freedom)
    exponents, predictions = fit.size_exponents(), fit.predict(flops)
    return [
        OptimumCheck(
            prediction.law,
            size,
            flops,
            # N / x falls as x grows: the upper end becomes the lower one.
            LawEstimate(*(size.parameters / getattr(prediction.parameters, end) for end in ("value", "high", "low"))),
            TrainedSize(prediction.parameters.value, prediction.tokens.value),
            # At the same N, compute grows with the tokens; the best N grows with compute to the power of the exponent.
            (size.parameters / prediction.parameters.value) ** (1 / exponents[prediction.law].value),
            gain,
            flops / fit.largest_budget,
        )
        for prediction in [each for each in predictions if each.fits] or predictions
    ]


def size_of_run(plan: Mapping[str, Mapping[str, int] | int], counted: str = ALL) -> TrainedSize:
    """The N and D of a run, from its cost plan. `counted` says which parameters count."""
    by_part, tokens = plan.get("parameters"), plan.get("tokens")
    if not isinstance(by_part, Mapping) or not isinstance(tokens, int):
        raise DataError("this run was imported or is older, and does not record its parameters and tokens; give --size")
    return TrainedSize(float(count_parameters(by_part, counted)), float(tokens))


def count_parameters(by_part: Mapping[str, int], counted: str) -> int:
    if counted not in COUNTS:
        raise DataError(f"is not one of: {', '.join(COUNTS)}", "count", counted)
    parameters = sum(by_part.values())
    if counted == ALL:
        return parameters
    embedding, head = by_part.get(EMBEDDING, 0), by_part.get(HEAD, 0)
    parameters -= sum(by_part.get(part, 0) for part in EMBEDDINGS)
    if counted == WITHOUT_EMBEDDINGS:
        return parameters - head
    # A head that shares the embedding has no matrix of its own, and is multiplied all the same.
    return parameters + (embedding if head < embedding else 0)


def _short(value: float) -> str:
    """A number of two digits."""
    return short_number(float(f"{value:.2g}"))
