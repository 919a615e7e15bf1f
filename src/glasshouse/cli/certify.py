"""`glasshouse certify`: do all the ways to the same result agree?"""

import json
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = "Examples: glasshouse certify demo-lm · glasshouse certify demo-lm --json"


def certify(
    run: Run,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a run against itself, and print the largest differences.

    With a cache and without, alone and in a batch, in parts and whole, compiled and eager, in bfloat16 and float32, resumed
    and uninterrupted, exported and imported again. What does not apply says why. The exit code is 1 if anything fails.
    """
    import glasshouse
    from glasshouse.cli.tables import console, show

    checks = glasshouse.certify(run, device)
    if as_json:
        rows = [{**vars(check), "passed": check.passed} for check in checks]
        print(json.dumps(rows))
    else:
        figures = [
            (
                check.name,
                "" if check.difference is None else f"{check.difference:.2g}",
                "" if check.tolerance is None else f"{check.tolerance:.2g}",
                check.verdict,
                "" if check.passed is None else check.note,
            )
            for check in checks
        ]
        show(("check", "difference", "tolerance", "verdict", "how"), figures, right=(1, 2))
        reasons: dict[str, list[str]] = {}
        for check in checks:
            if check.passed is None:
                reasons.setdefault(check.note, []).append(check.name)
        for reason, names in reasons.items():
            console.print(f"not applicable ({', '.join(names)}): {reason}", markup=False, soft_wrap=True)
    if any(check.passed is False for check in checks):
        raise typer.Exit(1)
