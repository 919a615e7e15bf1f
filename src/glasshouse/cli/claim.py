"""`glasshouse claim`: test a claim by an experiment."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device

EXAMPLES = "Examples: glasshouse claim alibi-extrapolates --quick · glasshouse claim learned-positions --seeds 16"


def claim(
    name: Annotated[str, typer.Argument(help="The name of a claim (see `glasshouse claims`).")],
    seeds: Annotated[int | None, typer.Option(help="The number of seeds; default: the number that the claim sets.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a very small version within a minute, without a verdict.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Test a claim: run its studies, apply its rule, and save the finding in studies/claims/NAME.

    The verdict is upheld, refuted or undecided. It is printed with its scope, the reported values and the measured values.
    The same command continues a trial that was interrupted.
    """
    import glasshouse
    from glasshouse.cli.tables import console, show
    from glasshouse.pages.claims_page import SYMBOLS

    case = glasshouse.try_claim(name, seeds=seeds, quick=quick, device=device)
    assert case.trial
    finding = case.trial.finding
    console.print(f"{case.name}: {case.statement}", markup=False, soft_wrap=True)
    if finding.rows:
        show(("", "reported", "measured"), [(row.what, row.reported, row.measured) for row in finding.rows])
    console.print(f"{SYMBOLS[finding.verdict]} {finding.verdict}", markup=False, style="bold")
    console.print(finding.because, markup=False, soft_wrap=True)
    console.print()
    console.print(f"rule    {case.rule}", markup=False, soft_wrap=True)
    console.print(f"scope   {finding.scope}", markup=False, soft_wrap=True)
    for note in finding.notes:
        console.print(f"note    {note}", markup=False, soft_wrap=True)
