"""Judges a claim on made-up values, as its trial would. Its studies are left out, because their specs take long to check."""

from collections.abc import Mapping
from functools import cache

from glasshouse.claims import registration, rules
from glasshouse.claims.claim import Claim
from glasshouse.pages.claim_content import Finding, Measured, Registration, Series


@cache
def plan_of(claim: type[Claim]) -> Registration:
    return registration.register("example", type(claim.__name__, (claim,), {"studies": ()})(), 1)


def judge(claim: type[Claim], values: Mapping[str, Mapping[int, float]]) -> Finding:
    """The finding on these values: key of a quantity -> unit -> value."""
    plan = plan_of(claim)
    assert set(values) <= set(plan.quantities)
    return rules.judge(
        plan, Measured({key: Series(series) for key, series in values.items()}, max(map(len, values.values())))
    )


def outcome(finding: Finding, name: str, setting: str = "") -> str:
    """The outcome of the part with this name."""
    [found] = [result.outcome for result in finding.parts if (result.part.name, result.part.setting) == (name, setting)]
    return found
