"""`glasshouse parts`: list the parts that a model can be built from."""

from typing import Annotated

import typer

EXAMPLES = "Examples: glasshouse parts · glasshouse parts attention · glasshouse parts position"


def parts(
    family: Annotated[
        str | None, typer.Argument(help="A family of parts, such as attention; default: list all families.")
    ] = None,
) -> None:
    """List the parts that a spec can name. With FAMILY, show the formula, cost, source, settings and limits of each part."""
    import glasshouse
    from glasshouse.cli.tables import console, show

    if family is None:
        rows = [(name, field, ", ".join(words)) for name, (field, words) in glasshouse.parts.part_families().items()]
        show(("family", "field", "values"), rows)
        return
    meanings = glasshouse.parts.CAPABILITIES
    for entry in glasshouse.parts.parts_of(family):
        console.print(f"[bold]{entry.field}={entry.word}[/bold]  ({entry.name})")
        for paragraph in (*entry.about.split("\n\n"), entry.source):
            if paragraph:
                console.print(" ".join(paragraph.split()), markup=False)
        for name, (_, rule, default) in entry.settings.items():
            console.print(f"- {name} = {default!r}: {rule.about}", markup=False)
        for capability, reason in entry.unsupported.items():
            console.print(f"- lacks {capability} ({meanings[capability]}): {reason}", markup=False)
        console.print()
