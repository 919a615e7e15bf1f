"""Judges a claim on made-up values, as its trial would. Its studies are left out, because their specs take long to check."""

from collections.abc import Mapping
from functools import cache

from glasshouse.claims import registration, rules
from glasshouse.claims.claim import Claim
from glasshouse.results.claim import Finding, Measured, Registration, Series


@cache
def _plan(claim: type[Claim], units: int) -> Registration:
    without_studies = type(claim.__name__, (claim,), {"studies": ()})
    return registration.register("example", without_studies(), 1, looks=(units,))


def judge(claim: type[Claim], values: Mapping[str, Mapping[int, float]]) -> Finding:
    """The finding on these values: key of a quantity -> unit -> value. There is one look, at as many seeds as values."""
    units = max(map(len, values.values()))
    plan = _plan(claim, units)
    assert set(values) <= set(plan.quantities)
    return rules.finding(plan, Measured({key: Series(series) for key, series in values.items()}, units))


def outcome(finding: Finding, name: str, setting: str = "") -> str:
    """The outcome of the part with this name."""
    [found] = [result.outcome for result in finding.parts if (result.part.name, result.part.setting) == (name, setting)]
    return found
