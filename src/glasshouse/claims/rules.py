"""From statistics to the three verdicts on a claim, and how figures are written beside it. Pure functions of numbers.

A claim with several parts is upheld where every part is, each at level alpha: no correction is needed for that. It is
refuted where any part is, and for that the level is shared among the `parts`.
"""

import math
from collections.abc import Mapping, Sequence

from glasshouse.formatting import rounded
from glasshouse.metrics.verdicts import Difference, summarise
from glasshouse.pages.claim_content import REFUTED, UNDECIDED, UPHELD
from glasshouse.pages.study_content import StudyResults

Values = Mapping[int, float] | Sequence[float]
ALPHA = 0.05


def beats(values: Values, figure: float, higher_is_better: bool, parts: int = 1, alpha: float = ALPHA) -> str:
    """Is the mean over seeds better than a figure? By the interval of the mean: upheld or refuted where all of it lies on
    one side of the figure. Seeds that diverged are left out, unless all did: then refuted."""
    finite = _finite(values)
    if not finite:
        return REFUTED if len(values) else UNDECIDED
    if len(finite) == 1:
        return UNDECIDED
    sign = 1 if higher_is_better else -1
    low, high = _ends(finite, sign, alpha)
    if low > sign * figure:
        return UPHELD
    low, high = _ends(finite, sign, alpha / parts)
    return REFUTED if high < sign * figure else UNDECIDED


def within(values: Values, low: float, high: float, parts: int = 1, alpha: float = ALPHA) -> str:
    """Does the mean lie between two figures? Upheld where its whole interval does, refuted where none of it does."""
    verdicts = (beats(values, low, True, 2 * parts, alpha), beats(values, high, False, 2 * parts, alpha))
    return all_of(*verdicts)


def direction(difference: Difference | None, wanted: str = "better", parts: int = 1, alpha: float = ALPHA) -> str:
    """Is an arm better than the first (or "worse", if that is what is claimed)? No difference larger than the margin
    refutes it as well; None, an arm that could not be judged, is undecided."""
    if difference is None or difference.word == "undecided":
        return UNDECIDED
    if difference.word == wanted:
        return UPHELD
    p = difference.equivalence_p if difference.word == "no difference" else difference.adjusted_p
    return REFUTED if p * parts <= alpha else UNDECIDED


def as_good(difference: Difference | None, parts: int = 1, alpha: float = ALPHA) -> str:
    """Is an arm as good as the first? Upheld where it is better or no difference reaches the margin, though a small one may
    be certain; refuted where it is worse and the margin may be reached."""
    if difference is None or math.isnan(difference.adjusted_p):
        return UNDECIDED
    if difference.word == "better" or difference.equivalence_p <= alpha:
        return UPHELD
    return REFUTED if difference.word == "worse" and difference.adjusted_p * parts <= alpha else UNDECIDED


def all_of(*verdicts: str) -> str:
    """A claim that all of this is so."""
    if REFUTED in verdicts:
        return REFUTED
    return UPHELD if verdicts and all(verdict == UPHELD for verdict in verdicts) else UNDECIDED


def any_of(*verdicts: str) -> str:
    """A claim that some of this is so; the caller sees to the level of each."""
    return opposite(all_of(*map(opposite, verdicts)))


def opposite(verdict: str) -> str:
    """The verdict on the contrary."""
    return {UPHELD: REFUTED, REFUTED: UPHELD}.get(verdict, verdict)


def mean(values: Values, form: str = ".4g", scale: float = 1.0) -> str:
    """`302.6`: the mean over the seeds that did not diverge; `form` is for example `.2f`, `scale` is 100 for per cent."""
    finite = _finite(values)
    return f"{scale * sum(finite) / len(finite):{form}}" if finite else _nothing(values)


def figure(values: Values, form: str = "", scale: float = 1.0) -> str:
    """`302.6 ± 4.6`: the mean and half the 95 % interval of that mean."""
    finite = [value * scale for value in _finite(values)]
    if len(finite) < 2:
        return mean(values, form or ".4g", scale)
    summary = summarise(finite, ALPHA)
    half = (summary.high - summary.low) / 2
    return " ± ".join(f"{each:{form}}" if form else rounded(each, half) for each in (summary.mean, half))


def shown(values: Values, form: str = "", scale: float = 1.0) -> str:
    """`302.6 ± 4.6 (16 seeds)`: the figure, and how many seeds it rests on."""
    seeds = len(_finite(values))
    lost = len(values) - seeds
    if not seeds:
        return _nothing(values)
    counted = f"{seeds} {'seed' if seeds == 1 else 'seeds'}{f', {lost} more diverged' if lost else ''}"
    return f"{figure(values, form, scale)} ({counted})"


def _nothing(values: Values) -> str:
    return f"diverged in each of {len(values)} seeds" if len(values) else "not measured"


def interval(values: Values, form: str = "", scale: float = 1.0, alpha: float = ALPHA, unit: str = "") -> str:
    """`302.6 (95 % interval 300.1 to 305.1)`: the mean over seeds and the interval of that mean; `unit` is for example
    ` %`."""
    finite = [value * scale for value in _finite(values)]
    if len(finite) < 2:
        return shown(values, form, scale) + unit
    summary = summarise(finite, alpha)
    half = (summary.high - summary.low) / 2
    mean, low, high = (
        f"{each:{form}}" if form else rounded(each, half) for each in (summary.mean, summary.low, summary.high)
    )
    return f"{mean}{unit} ({100 * (1 - alpha):.4g} % interval {low} to {high}{unit})"


def sentence(difference: Difference | None) -> str:
    """A difference in words, or that there is none to be had."""
    return difference.sentence if difference else "too few seeds came through to compare"


def scope(comparison: StudyResults) -> str:
    """`speech-lm (863,000 to 943,611 parameters, 500 steps), 8 seeds on cuda`: what a study ran, for a finding's scope."""

    def span(numbers: Sequence[int]) -> str:
        low, high = min(numbers), max(numbers)
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    sizes = span([arm.parameters for arm in comparison.arms])
    steps = span([arm.steps for arm in comparison.arms])
    device = comparison.machine.get("accelerator") or comparison.machine.get("device", "")
    seeds = f"{len(comparison.arms[0].seeds)} seeds"
    return f"{comparison.recipe} ({sizes} parameters, {steps} steps), {seeds}{f' on {device}' if device else ''}"


def _finite(values: Values) -> list[float]:
    numbers = values.values() if isinstance(values, Mapping) else values
    return [float(value) for value in numbers if math.isfinite(value)]


def _ends(finite: Sequence[float], sign: int, alpha: float) -> tuple[float, float]:
    """The interval of the mean of the values times a sign."""
    summary = summarise([sign * value for value in finite], alpha)
    return summary.low, summary.high
