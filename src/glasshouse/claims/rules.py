"""From statistics to the verdict on a claim, and how a finding writes its figures. Pure functions of numbers.

A claim with several parts is upheld if every part is upheld, each at level alpha; that needs no correction. It is refuted if
any part is refuted; for that the level is divided among the `parts` (Bonferroni).
"""

import math
from collections.abc import Mapping, Sequence

from glasshouse.formatting import rounded
from glasshouse.metrics.verdicts import BETTER, NO_DIFFERENCE, WORSE, Difference, summarise
from glasshouse.metrics.verdicts import UNDECIDED as UNDECIDED_DIFFERENCE
from glasshouse.pages.claim_content import REFUTED, UNDECIDED, UPHELD
from glasshouse.pages.study_content import StudyResults

Values = Mapping[int, float] | Sequence[float]
ALPHA = 0.05


def beats(values: Values, figure: float, higher_is_better: bool, parts: int = 1, alpha: float = ALPHA) -> str:
    """Is the mean over seeds better than a figure? Upheld or refuted if the whole confidence interval of the mean is on one
    side of the figure. Seeds that diverged are left out; if all diverged, the verdict is refuted."""
    finite = _finite(values)
    if not finite:
        return REFUTED if len(values) else UNDECIDED
    if len(finite) == 1:
        return UNDECIDED
    sign = 1 if higher_is_better else -1
    low, high = _signed_interval(finite, sign, alpha)
    if low > sign * figure:
        return UPHELD
    low, high = _signed_interval(finite, sign, alpha / parts)
    return REFUTED if high < sign * figure else UNDECIDED


def within(values: Values, low: float, high: float, parts: int = 1, alpha: float = ALPHA) -> str:
    """Is the mean between two figures? Upheld if its whole interval is between them, refuted if all of it is outside."""
    verdicts = (beats(values, low, True, 2 * parts, alpha), beats(values, high, False, 2 * parts, alpha))
    return all_of(*verdicts)


def direction(difference: Difference | None, claimed: str = BETTER, parts: int = 1, alpha: float = ALPHA) -> str:
    """Is an arm better than the first (or worse, if `claimed` is "worse")? A proof that the difference is smaller than the
    margin refutes it too. None stands for an arm that could not be judged: undecided."""
    if difference is None or difference.word == UNDECIDED_DIFFERENCE:
        return UNDECIDED
    if difference.word == claimed:
        return UPHELD
    p = difference.equivalence_p if difference.word == NO_DIFFERENCE else difference.adjusted_p
    return REFUTED if p * parts <= alpha else UNDECIDED


def as_good(difference: Difference | None, parts: int = 1, alpha: float = ALPHA) -> str:
    """Is an arm as good as the first? Upheld if it is better, or if the difference is shown to be smaller than the margin,
    even if a smaller difference is certain. Refuted if it is worse and the difference may reach the margin."""
    if difference is None or math.isnan(difference.adjusted_p):
        return UNDECIDED
    if difference.word == BETTER or difference.equivalence_p <= alpha:
        return UPHELD
    return REFUTED if difference.word == WORSE and difference.adjusted_p * parts <= alpha else UNDECIDED


def all_of(*verdicts: str) -> str:
    """The verdict on a claim that all parts hold."""
    if REFUTED in verdicts:
        return REFUTED
    return UPHELD if verdicts and all(verdict == UPHELD for verdict in verdicts) else UNDECIDED


def any_of(*verdicts: str) -> str:
    """The verdict on a claim that at least one part holds. The caller chooses the level of each part."""
    return opposite(all_of(*map(opposite, verdicts)))


def opposite(verdict: str) -> str:
    """The verdict on the negated claim."""
    return {UPHELD: REFUTED, REFUTED: UPHELD}.get(verdict, verdict)


def format_mean(values: Values, form: str = ".4g", scale: float = 1.0) -> str:
    """`302.6`: the mean over the seeds that did not diverge. `form` is a number format, `scale` is 100 for per cent."""
    finite = _finite(values)
    return f"{scale * sum(finite) / len(finite):{form}}" if finite else _why_no_mean(values)


def format_plus_minus(values: Values, form: str = "", scale: float = 1.0) -> str:
    """`302.6 ± 4.6`: the mean and half the width of its 95 % confidence interval."""
    finite = [value * scale for value in _finite(values)]
    if len(finite) < 2:
        return format_mean(values, form or ".4g", scale)
    summary = summarise(finite, ALPHA)
    half_width = (summary.high - summary.low) / 2
    numbers = (summary.mean, half_width)
    return " ± ".join(f"{number:{form}}" if form else rounded(number, half_width) for number in numbers)


def format_with_seeds(values: Values, form: str = "", scale: float = 1.0) -> str:
    """`302.6 ± 4.6 (16 seeds)`: as `format_plus_minus`, with the number of seeds."""
    seeds = len(_finite(values))
    diverged = len(values) - seeds
    if not seeds:
        return _why_no_mean(values)
    count = f"{seeds} {'seed' if seeds == 1 else 'seeds'}{f', {diverged} more diverged' if diverged else ''}"
    return f"{format_plus_minus(values, form, scale)} ({count})"


def _why_no_mean(values: Values) -> str:
    return f"diverged in each of {len(values)} seeds" if len(values) else "not measured"


def format_interval(values: Values, form: str = "", scale: float = 1.0, alpha: float = ALPHA, unit: str = "") -> str:
    """`302.6 (95 % interval 300.1 to 305.1)`: the mean over seeds and its confidence interval. `unit` is for example
    ` %`."""
    finite = [value * scale for value in _finite(values)]
    if len(finite) < 2:
        return format_with_seeds(values, form, scale) + unit
    summary = summarise(finite, alpha)
    half_width = (summary.high - summary.low) / 2
    numbers = (summary.mean, summary.low, summary.high)
    mean, low, high = (f"{number:{form}}" if form else rounded(number, half_width) for number in numbers)
    return f"{mean}{unit} ({100 * (1 - alpha):.4g} % interval {low} to {high}{unit})"


def difference_sentence(difference: Difference | None) -> str:
    """The sentence of a difference; None stands for an arm that could not be judged."""
    return difference.sentence if difference else "too few seeds finished without diverging to compare the arms"


def study_scope(study: StudyResults) -> str:
    """`speech-lm (863,000 to 943,611 parameters, 500 steps), 8 seeds on cuda`: what a study trained."""

    def span(numbers: Sequence[int]) -> str:
        low, high = min(numbers), max(numbers)
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    sizes = span([arm.parameters for arm in study.arms])
    steps = span([arm.steps for arm in study.arms])
    device = study.machine.get("accelerator") or study.machine.get("device", "")
    seeds = f"{len(study.arms[0].seeds)} seeds"
    return f"{study.recipe} ({sizes} parameters, {steps} steps), {seeds}{f' on {device}' if device else ''}"


def _finite(values: Values) -> list[float]:
    numbers = values.values() if isinstance(values, Mapping) else values
    return [float(value) for value in numbers if math.isfinite(value)]


def _signed_interval(finite: Sequence[float], sign: int, alpha: float) -> tuple[float, float]:
    """The confidence interval of the mean of sign * values."""
    summary = summarise([sign * value for value in finite], alpha)
    return summary.low, summary.high
