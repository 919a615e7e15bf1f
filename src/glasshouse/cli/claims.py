"""`glasshouse claims`: what is asserted about Transformers, and the verdicts so far."""

from typing import Annotated

import typer

app = typer.Typer(
    help="List the claims with their verdicts so far; write them up.",
    invoke_without_command=True,
    epilog="Examples: glasshouse claims · glasshouse claims report --output claims.md",
)


@app.callback()
def listing(context: typer.Context) -> None:
    """List the claims: name, what is asserted, the verdict so far. `glasshouse claim NAME` tries one."""
    if context.invoked_subcommand is None:
        import glasshouse
        from glasshouse.cli.tables import show
        from glasshouse.pages.claims_page import verdict

        rows = [(case.name, case.statement, verdict(case)) for case in glasshouse.list_claims()]
        show(("claim", "what is asserted", "verdict"), rows)


@app.command(epilog="Examples: glasshouse claims report · glasshouse claims report --output claims.md")
def report(
    output: Annotated[str, typer.Option(help="An .html page that works offline, or the same as .md.")] = "claims.html",
) -> None:
    """Write every claim with its verdict, reported beside measured, from what the trials left behind; runs nothing."""
    import glasshouse

    print(glasshouse.claims_report(output))
