"""The registration of a trial: what it will do, with a digest, written before its first run. Reads and writes its JSON.

Two plans are the same if their digests are. The digest covers the statement, the procedure, the comparisons that decide with
their margins, the metrics and splits, the looks, the level and every spec that is known beforehand. It does not cover the
number of the trial, its date and its seeds, so a replication has the digest of the trial that it repeats.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from glasshouse.claims import rules
from glasshouse.claims.bench import StudyPlan
from glasshouse.claims.claim import Claim
from glasshouse.records import kept_json
from glasshouse.records.kept_schema import as_type
from glasshouse.results.claim import Registration
from glasshouse.specs import recipes, spec_files
from glasshouse.specs.errors import DataError, RunError
from glasshouse.studies import arms

# Increased whenever the previous release could not read a registration or values that this release writes.
FORMAT = 1
# Trial n of a claim uses the seeds from n times this number. Smaller seeds are those that people use in `compare`.
SEEDS_PER_TRIAL = 1000
NOT_IN_DIGEST = ("number", "registered", "digest", "first_seed", "replicates", "format")


def register(
    name: str,
    claim: Claim,
    number: int,
    looks: tuple[int, ...] | None = None,
    replicates: int = 0,
    quick: bool = False,
    first_seed: int | None = None,
) -> Registration:
    """The registration of a new trial. Trains nothing and writes nothing."""
    plan = Registration(
        claim=name,
        number=number,
        registered=float(int(time.time())),
        digest="",
        first_seed=SEEDS_PER_TRIAL * number if first_seed is None else first_seed,
        looks=looks or claim.looks,
        alpha=rules.ALPHA,
        statement=claim.statement,
        procedure=claim.procedure,
        outcomes=rules.outcomes_in_words(claim.parts),
        quantities=dict(claim.quantities),
        parts=tuple(claim.parts),
        studies=tuple(_describe_study(study) for study in claim.studies),
        replicates=replicates,
        quick=quick,
    )
    unknown = {key for part in plan.parts for key in (part.quantity, part.against) if key} - set(plan.quantities)
    if unknown:
        raise RunError(f"the claim {name} compares {', '.join(sorted(unknown))}, which it does not measure")
    return replace(plan, digest=digest_of(to_json(plan)))


def _describe_study(plan: StudyPlan) -> dict[str, Any]:
    """A planned study as JSON, with a digest of the spec of each arm that is known beforehand."""
    table = asdict(plan)
    words = list(plan.words)
    if plan.recipes:
        # Some overrides are filled in later, such as the run to start from. The recipe below them is fixed.
        bases = {name: recipes.tables_of(words[0]) for name, words in plan.recipes.items()}
        table["specs"] = {name: _sha256(json.dumps(base, sort_keys=True)) for name, base in bases.items()}
    elif not any("{" in word for word in words):
        variants = arms.expand(arms.parse(words))
        table["specs"] = {variant.name: _sha256(spec_files.to_toml(variant.spec)) for variant in variants}
    return json.loads(json.dumps(table))


def digest_of(table: Mapping[str, Any]) -> str:
    """The SHA-256 of everything that a plan fixes, as hexadecimal digits, from its JSON."""
    fixed = {key: value for key, value in table.items() if key not in NOT_IN_DIGEST}
    return _sha256(json.dumps(fixed, sort_keys=True, ensure_ascii=True))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def to_json(registration: Registration) -> dict[str, Any]:
    return {"format": FORMAT, **json.loads(json.dumps(asdict(registration)))}


def from_json(table: Mapping[str, Any], where: str) -> Registration:
    """Read a registration and check its digest."""
    try:
        as_type(table, dict[str, Any])
        as_type(table.get("format"), int, "format")
        kept_json.refuse_newer(table, FORMAT, where)
        fields = {key: value for key, value in table.items() if key != "format"}
        registration: Registration = as_type(fields, Registration)
    except ValueError as error:
        raise DataError(
            f"{where} is not a registration of a trial ({error}); restore it, or delete the folder of the trial"
        ) from None
    if digest_of(table) != registration.digest:
        raise DataError(
            f"{where} does not have the digest that it states ({registration.digest[:12]}): it was changed after it was "
            f"written. Restore it, or register a new trial beside it with: glasshouse claim {registration.claim}"
        )
    return registration
