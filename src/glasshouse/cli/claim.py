"""`glasshouse claim`: put a claim on trial."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device

EXAMPLES = "Examples: glasshouse claim alibi-extrapolates --quick · glasshouse claim learned-positions --seeds 16"


def claim(
    name: Annotated[str, typer.Argument(help="A claim's name; see `glasshouse claims`.")],
    seeds: Annotated[int | None, typer.Option(help="How many seeds; by default as many as the claim asks for.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="See it run within a minute; nothing follows from it.")] = False,
    device: Device = "auto",
) -> None:
    """Try a claim: run its studies, judge it by its rule, and keep the finding in studies/claims/NAME.

    The verdict is upheld, refuted or undecided, with the figures reported beside those measured, and its scope. The same
    command again goes on with a trial that was stopped.
    """
    import glasshouse
    from glasshouse.cli.tables import console, show
    from glasshouse.pages.claims_page import MARKS

    case = glasshouse.try_claim(name, seeds=seeds, quick=quick, device=device)
    assert case.trial
    finding = case.trial.finding
    console.print(f"{case.name}: {case.statement}", markup=False, soft_wrap=True)
    if finding.rows:
        show(("", "reported", "measured"), [(row.what, row.reported, row.measured) for row in finding.rows])
    console.print(f"{MARKS[finding.verdict]} {finding.verdict}", markup=False, style="bold")
    console.print(finding.because, markup=False, soft_wrap=True)
    console.print()
    console.print(f"rule    {case.rule}", markup=False, soft_wrap=True)
    console.print(f"scope   {finding.scope}", markup=False, soft_wrap=True)
    for note in finding.notes:
        console.print(f"note    {note}", markup=False, soft_wrap=True)
