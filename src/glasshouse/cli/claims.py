"""`glasshouse claims`: list the claims about Transformers with their verdicts, and write the report of all claims."""

from typing import Annotated

import typer

app = typer.Typer(
    help="List the claims with their verdicts so far; `report` writes them to a page.",
    invoke_without_command=True,
    epilog="Examples: glasshouse claims · glasshouse claims report --output claims.md",
)


@app.callback()
def listing(context: typer.Context) -> None:
    """List the claims with their verdicts so far. `glasshouse claim NAME` tests a claim."""
    if context.invoked_subcommand is None:
        import glasshouse
        from glasshouse.cli.tables import show
        from glasshouse.pages.claims_page import verdict_text

        rows = [(case.name, case.statement, verdict_text(case)) for case in glasshouse.list_claims()]
        show(("claim", "statement", "verdict"), rows)


@app.command(epilog="Examples: glasshouse claims report · glasshouse claims report --output claims.md")
def report(
    output: Annotated[
        str, typer.Option(help="The file to write: .html for a page that works offline, or .md.")
    ] = "claims.html",
) -> None:
    """Write a page of all claims with their verdicts and evidence, from the saved findings. No claim is tested."""
    import glasshouse

    print(glasshouse.claims_report(output))
