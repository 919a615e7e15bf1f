"""Judges a claim on made-up values, as its trial would."""

from collections.abc import Mapping
from functools import cache

from glasshouse.claims import registration, rules
from glasshouse.claims.claim import Claim
from glasshouse.pages.claim_content import Finding, Measured, Registration, Series


def judge(claim: type[Claim], values: Mapping[str, Mapping[int, float]]) -> Finding:
    """The finding on these values: key of a quantity -> unit -> value."""
    units = max(map(len, values.values()))
    return rules.judge(_plan(claim, units), Measured({key: Series(series) for key, series in values.items()}, units))


@cache
def _plan(claim: type[Claim], units: int) -> Registration:
    return registration.register("example", claim(), 1, looks=(units,))


def outcome(finding: Finding, name: str, setting: str = "") -> str:
    """The outcome of the part with this name."""
    [found] = [result.outcome for result in finding.parts if (result.part.name, result.part.setting) == (name, setting)]
    return found
