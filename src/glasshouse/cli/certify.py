"""`glasshouse certify`: check that different ways to compute the same result agree."""

import json
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = "Examples: glasshouse certify demo-lm · glasshouse certify demo-lm --json"


def certify(
    run: Run,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Check that different ways to compute the same result agree, and print the largest difference of each pair.

    The pairs are: with and without a key-value cache, alone and in a batch, in chunks and in one pass, compiled and eager,
    bfloat16 and float32, resumed and uninterrupted, exported and imported. A check that does not apply says why. The exit
    status is 1 if a check fails.
    """
    from glasshouse.api import exchange
    from glasshouse.cli.tables import console, show

    checks = exchange.certify(run, device)
    if as_json:
        rows = [{**vars(check), "passed": check.passed} for check in checks]
        print(json.dumps(rows))
    else:
        cells = [
            (
                check.name,
                "" if check.difference is None else f"{check.difference:.2g}",
                "" if check.tolerance is None else f"{check.tolerance:.2g}",
                check.verdict,
                "" if check.passed is None else check.note,
            )
            for check in checks
        ]
        show(("check", "difference", "tolerance", "verdict", "details"), cells, right=(1, 2))
        reasons: dict[str, list[str]] = {}
        for check in checks:
            if check.passed is None:
                reasons.setdefault(check.note, []).append(check.name)
        for reason, names in reasons.items():
            console.print(f"not applicable ({', '.join(names)}): {reason}", markup=False, soft_wrap=True)
    if any(check.passed is False for check in checks):
        raise typer.Exit(1)
