"""`glasshouse claims`: list the claims with their verdicts, write their pages, and check a record of trials."""

from typing import Annotated

import typer

app = typer.Typer(
    help="List the claims with their verdicts so far; `report` writes their pages, `check` computes them again.",
    invoke_without_command=True,
    epilog="Examples: glasshouse claims · glasshouse claims report --output claims.html · "
    "glasshouse claims check docs/claims",
)


@app.callback()
def listing(context: typer.Context) -> None:
    """List the claims with their verdicts so far. `glasshouse claim NAME` tries a claim."""
    if context.invoked_subcommand is None:
        from glasshouse.api import studies
        from glasshouse.cli.tables import console, show
        from glasshouse.pages.claim_text import verdict_text

        cases = studies.list_claims()
        rows = [(case.name, case.statement, verdict_text(case) + " (damaged)" * bool(case.damage)) for case in cases]
        show(("claim", "statement", "verdict"), rows)
        for damage in (damage for case in cases for damage in case.damage):
            console.print(f"damaged: {damage}", markup=False, soft_wrap=True)


@app.command(
    epilog="Examples: glasshouse claims report · glasshouse claims report --record docs/claims --output claims.html · "
    "glasshouse claims report --output docs/claims"
)
def report(
    output: Annotated[
        str, typer.Option(help="An .html file that works offline, or a folder for Markdown pages with their record.")
    ] = "claims.html",
    record: Annotated[
        str | None, typer.Option(help="A record whose trials an .html file shows beside those of the studies folder.")
    ] = None,
) -> None:
    """Write the pages of all claims from the saved trials. No claim is tried.

    A folder also gets the registration and the values of every trial; nothing in it is replaced.
    """
    from glasshouse.api import studies
    from glasshouse.cli.tables import shown

    print(shown(str(studies.claims_report(output, record)), raw=True))


@app.command(epilog="Example: glasshouse claims check docs/claims")
def check(
    record: Annotated[str, typer.Argument(help="The folder of a record, as `claims report` writes it.")] = "docs/claims",
) -> None:
    """Compute every page of a record again from its registrations and values, and fail on any difference."""
    from glasshouse.api import studies
    from glasshouse.cli.tables import shown

    faults = studies.check_claims(record)
    for fault in faults:
        print(shown(fault))
    if faults:
        raise typer.Exit(1)
    print(shown(f"{record}: every page and picture follows from the registered plans and the values"))
