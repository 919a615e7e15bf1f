"""`glasshouse parts`: what a model can be made of."""

from typing import Annotated

import typer

EXAMPLES = "Examples: glasshouse parts · glasshouse parts attention · glasshouse parts position"


def parts(
    family: Annotated[str | None, typer.Argument(help="A family, such as attention; by default all, a line each.")] = None,
) -> None:
    """List the parts that a spec can name; with a family, each one's formula, cost and source, and what it refuses."""
    from glasshouse.cli.tables import console, show
    from glasshouse.models import part_list
    from glasshouse.parts.capabilities import CAPABILITIES
    from glasshouse.specs import catalogue

    if family is None:
        rows = [(name, field, ", ".join(catalogue.names(name))) for name, field in part_list.FAMILIES.items()]
        show(("family", "field", "words"), rows)
        return
    for entry in part_list.family(family):
        console.print(f"[bold]{entry.field}={entry.word}[/bold]  ({entry.name})")
        for paragraph in (*entry.about.split("\n\n"), entry.source):
            if paragraph:
                console.print(" ".join(paragraph.split()), markup=False)
        for law, reason in entry.unsupported.items():
            console.print(f"- not {law} ({CAPABILITIES[law]}): {reason}", markup=False)
        console.print()
