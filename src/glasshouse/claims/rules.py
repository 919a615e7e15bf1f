"""The rules of a trial: from measured values to the outcome of each part and the verdict on the claim. Pure functions.

A part compares a quantity with another one, paired by unit, or with a figure. Its outcomes are tested in a fixed order,
which `OUTCOMES` states. A claim of several parts is upheld if every part is upheld, each at level alpha; that needs no
correction (an intersection-union test). Anything that speaks against the claim is tested at alpha divided by the number of
parts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.results.claim import (
    CONTROL,
    DEPENDS,
    EQUIVALENCE,
    EXACT,
    NON_INFERIORITY,
    REFUTED,
    SUPERIORITY,
    TOO_SMALL,
    UNDECIDED,
    UPHELD,
    Finding,
    Measured,
    Part,
    PartResult,
    Quantity,
    Registration,
    Series,
)
from glasshouse.verdicts import estimates, statistics
from glasshouse.verdicts.estimates import Estimate
from glasshouse.verdicts.sequential_tests import Look

ALPHA = 0.05
NAN = float("nan")
# With more units no single one decides, and leaving out each in turn would take long.
MOST_FRAGILE_UNITS = 64
OUTCOMES = (
    "The outcomes of a part are tested in this order. Superiority (one quantity is higher or lower than another): too small "
    "to matter if the difference is shown to be smaller than the margin, whatever its direction; upheld if the claimed "
    "direction is shown; refuted if the opposite direction is shown; otherwise undecided. Non-inferiority (one quantity is "
    "as good as another): upheld if it is shown to be worse by less than the margin; refuted if it is shown to be worse by "
    "more than the margin; otherwise undecided. Equivalence: upheld if the difference is shown to be smaller than the "
    "margin; refuted if it is shown to be larger; otherwise undecided. Exact: upheld if every value is zero, otherwise "
    "refuted. The claim is refuted if a part is refuted, too small to matter if a part is, undecided if a part is, "
    "otherwise upheld. If it is judged under several settings and the verdicts are decided and differ, it depends on the "
    "setting."
)

CONTROL_OUTCOMES = (
    " Control (two names for one thing): upheld if the difference is shown to be smaller than the margin; otherwise nothing "
    "is decided."
)


def outcomes_in_words(parts: Sequence[Part]) -> str:
    """The order in which the outcomes of these parts are tested, in words."""
    return OUTCOMES + (CONTROL_OUTCOMES if any(part.kind == CONTROL for part in parts) else "")


def higher(quantity: str, than: str | float, margin: float, name: str = "", **options: object) -> Part:
    """The part: a quantity is higher than another one, or than a figure."""
    return _part(SUPERIORITY, "higher", quantity, than, margin, name, options)


def lower(quantity: str, than: str | float, margin: float, name: str = "", **options: object) -> Part:
    """The part: a quantity is lower than another one, or than a figure."""
    return _part(SUPERIORITY, "lower", quantity, than, margin, name, options)


def not_lower(quantity: str, than: str | float, margin: float, name: str = "", **options: object) -> Part:
    """The part: a quantity is lower than another one, or than a figure, by less than the margin at most."""
    return _part(NON_INFERIORITY, "higher", quantity, than, margin, name, options)


def not_higher(quantity: str, than: str | float, margin: float, name: str = "", **options: object) -> Part:
    """The part: a quantity is higher than another one, or than a figure, by less than the margin at most."""
    return _part(NON_INFERIORITY, "lower", quantity, than, margin, name, options)


def equal(quantity: str, to: str | float, margin: float, name: str = "", **options: object) -> Part:
    """The part: two quantities differ by less than the margin."""
    return _part(EQUIVALENCE, "higher", quantity, to, margin, name, options)


def control(quantity: str, to: str | float, margin: float, name: str = "", **options: object) -> Part:
    """The part: two names for one thing differ by less than the margin. If that is not shown, nothing is decided."""
    return _part(CONTROL, "higher", quantity, to, margin, name, options)


def zero(quantity: str, name: str = "", **options: object) -> Part:
    """The part: every value of a quantity is zero. No statistics."""
    return _part(EXACT, "lower", quantity, 0.0, 0.0, name, options)


def _part(
    kind: str, claimed: str, quantity: str, other: str | float, margin: float, name: str, options: Mapping[str, object]
) -> Part:
    against, figure = (other, 0.0) if isinstance(other, str) else ("", float(other))
    table = {"name": name or quantity, "kind": kind, "quantity": quantity, "claimed": claimed, "against": against}
    return Part(**{**table, "figure": figure, "margin": float(margin), **options})  # type: ignore[arg-type]


def finding(registration: Registration, measured: Measured, details: bool = True) -> Finding:
    """The result of a trial, from its registered plan and its values. `details` as in `judge_part`."""
    parts = registration.parts
    settings = list(dict.fromkeys(part.setting for part in parts if part.decides and part.setting)) or [""]
    in_setting = {
        setting: [part for part in parts if part.decides and part.setting in ("", setting)] for setting in settings
    }
    looks = Look.at(registration.looks, measured.seeds).looks if measured.seeds else registration.looks
    results = []
    for part in parts:
        # A part that counts under every setting is judged among the parts of the largest of them.
        families = [family for family in in_setting.values() if part in family]
        family_size = max(map(len, families)) if families else _size_beside(parts, part)
        level = (family_size, registration.alpha, looks, measured.seeds, details)
        results.append(judge_part(part, measured.series, registration.quantities, *level))
    outcomes = {result.part: result.outcome for result in results}
    verdicts = [
        (setting, all_of([outcomes[part] for part in in_setting[setting]]) if in_setting[setting] else UNDECIDED)
        for setting in settings
    ]
    by_setting = tuple(verdicts) if settings != [""] else ()
    return Finding(combine([verdict for _, verdict in verdicts]), tuple(results), by_setting)


def _size_beside(parts: Sequence[Part], part: Part) -> int:
    return sum(not other.decides and other.setting == part.setting for other in parts)


def all_of(outcomes: Sequence[str]) -> str:
    """The verdict on a claim that all parts hold."""
    return next((word for word in (REFUTED, TOO_SMALL, UNDECIDED) if word in outcomes), UPHELD if outcomes else UNDECIDED)


def combine(verdicts: Sequence[str]) -> str:
    """The verdict over several settings: the common one; undecided if one is undecided; otherwise it depends."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return UNDECIDED if UNDECIDED in verdicts else DEPENDS


def judge_part(
    part: Part,
    series: Mapping[str, Series],
    quantities: Mapping[str, Quantity],
    parts: int = 1,
    alpha: float = ALPHA,
    looks: tuple[int, ...] = (),
    seeds: int = 0,
    details: bool = True,
) -> PartResult:
    """The outcome of one part, which is one of `parts` parts of a claim. `details` are the last two fields of the result."""
    quantity, reference = series.get(part.quantity), series.get(part.against) if part.against else None
    if quantity is None or (part.against and reference is None):
        return PartResult(part, UNDECIDED, NAN, NAN, NAN, NAN, 0)
    if part.kind == EXACT:
        return _exact(part, quantity)
    differences = _differences(part, quantity, reference)
    if outcome := _by_divergence(part, quantity, reference, quantities[part.quantity].higher_is_better):
        return PartResult(part, outcome, NAN, NAN, NAN, 0.0, 0, diverged=len(quantity.values))
    if not differences.units:
        return PartResult(part, UNDECIDED, NAN, NAN, NAN, NAN, 0, diverged=differences.diverged)
    seeds = seeds or len(differences.units)
    test = _Test(part, parts, alpha, Look(looks or (seeds,), seeds))
    estimate = differences.estimate()
    outcome, p = test.outcome(estimate)
    low, high = estimate.interval(test.look.level(alpha), test.look.strength)
    if part.claimed == "lower":
        low, high = -high, -low
    return PartResult(
        part=part,
        outcome=outcome,
        mean=estimate.mean if part.claimed == "higher" else -estimate.mean,
        low=low,
        high=high,
        p=p,
        units=len(differences.units),
        items=differences.item_count,
        diverged=differences.diverged,
        fragile=_fragile_unit(differences, test, outcome) if details else None,
        smallest=_smallest(estimate, test.look.level(alpha)) if details else NAN,
    )


@dataclass(frozen=True)
class _Differences:
    """Quantity minus reference, with the sign of the claimed direction: unit -> value, or unit -> value of each item."""

    units: tuple[int, ...]
    values: np.ndarray  # [unit], or [unit, item]
    diverged: int

    @property
    def item_count(self) -> int:
        return self.values.shape[1] if self.values.ndim == 2 else 0

    def estimate(self, without: int | None = None) -> Estimate:
        values = self.values if without is None else np.delete(self.values, without, axis=0)
        return estimates.from_units_and_items(values) if values.ndim == 2 else estimates.from_units(values.tolist())


def _differences(part: Part, quantity: Series, reference: Series | None) -> _Differences:
    sign = 1.0 if part.claimed == "higher" else -1.0
    common = [unit for unit in sorted(quantity.values) if reference is None or unit in reference.values]
    finite = [
        unit
        for unit in common
        if math.isfinite(quantity.values[unit]) and (reference is None or math.isfinite(reference.values[unit]))
    ]
    with_items = part.items and quantity.items is not None and (reference is None or reference.items is not None)

    def row(of: Series, unit: int) -> np.ndarray:
        return np.asarray(of.items[unit] if with_items and of.items else of.values[unit], dtype=float)

    rows = [sign * (row(quantity, unit) - (row(reference, unit) if reference else part.figure)) for unit in finite]
    return _Differences(tuple(finite), np.array(rows), len(common) - len(finite))


def _by_divergence(part: Part, quantity: Series, reference: Series | None, higher_is_better: bool) -> str:
    """The outcome if exactly one side diverged in every unit, which is as bad as can be; empty otherwise."""
    sides = [quantity] if reference is None else [quantity, reference]
    alive = [any(map(math.isfinite, side.values.values())) or not side.values for side in sides]
    if all(alive) or (not any(alive) and len(sides) == 2):
        return ""
    quantity_is_worse = not alive[0]
    good_direction = "higher" if higher_is_better else "lower"
    return UPHELD if quantity_is_worse == (part.claimed != good_direction) else REFUTED


@dataclass(frozen=True)
class _Test:
    """The tests of one part at one look. Estimates have the sign of the claimed direction."""

    part: Part
    parts: int
    alpha: float
    look: Look

    def outcome(self, estimate: Estimate) -> tuple[str, float]:
        """(the outcome, its p-value); if nothing is decided, the smallest p-value."""
        margin, against = self.part.margin, self.alpha / self.parts
        if self.part.kind == SUPERIORITY:
            small, supports, opposes = self._small(estimate), self._above(estimate, 0.0), self._below(estimate, 0.0)
            if small <= against:
                return TOO_SMALL, small
            if small > self.alpha and supports <= self.alpha:
                return UPHELD, supports
            # What is shown to be small before the correction for several parts is neither upheld nor certainly small.
            return (REFUTED, opposes) if opposes <= against else (UNDECIDED, min(small, supports, opposes))
        if self.part.kind == NON_INFERIORITY:
            supports, opposes = self._above(estimate, -margin), self._below(estimate, -margin)
        else:
            supports = self._small(estimate)
            opposes = min(self._above(estimate, margin), self._below(estimate, -margin))
        if supports <= self.alpha:
            return UPHELD, supports
        if self.part.kind == CONTROL:
            return UNDECIDED, supports
        return (REFUTED, opposes) if opposes <= against else (UNDECIDED, min(supports, opposes))

    def _above(self, estimate: Estimate, threshold: float) -> float:
        """The two-sided p-value in the direction: the true mean is above the threshold."""
        return self.look.corrected(min(2 * estimate.p_above(threshold, self.look.strength), 1.0))

    def _below(self, estimate: Estimate, threshold: float) -> float:
        return self.look.corrected(min(2 * estimate.p_below(threshold, self.look.strength), 1.0))

    def _small(self, estimate: Estimate) -> float:
        """The p-value of the equivalence test: the true mean lies between -margin and margin."""
        return self.look.corrected(estimate.p_within(self.part.margin, self.look.strength), two_sided=False)


def _exact(part: Part, quantity: Series) -> PartResult:
    values = list(quantity.values.values())
    if not values:
        return PartResult(part, UNDECIDED, NAN, NAN, NAN, NAN, 0)
    largest = max(map(abs, values))
    return PartResult(part, UPHELD if largest == 0 else REFUTED, largest, NAN, NAN, NAN, len(values))


def _fragile_unit(differences: _Differences, test: _Test, outcome: str) -> int | None:
    """A unit whose removal changes a decided outcome, although the others agree with it; None if there is no such unit."""
    if outcome == UNDECIDED or not 3 <= len(differences.units) <= MOST_FRAGILE_UNITS:
        return None
    outcomes = [test.outcome(differences.estimate(without=index))[0] for index in range(len(differences.units))]
    changed = [unit for unit, other in zip(differences.units, outcomes, strict=True) if other != outcome]
    return changed[0] if len(changed) == 1 else None


def _smallest(estimate: Estimate, level: float) -> float:
    """The difference that this trial would have found four times in five."""
    if estimate.units < 2 or not math.isfinite(estimate.error):
        return NAN
    pairs = max(2, round(estimate.degrees) + 1)
    return statistics.detectable_difference(estimate.error * math.sqrt(pairs), pairs, level)
