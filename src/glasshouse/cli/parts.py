"""`glasshouse parts`: what a model can be made of."""

from typing import Annotated

import typer

EXAMPLES = "Examples: glasshouse parts · glasshouse parts attention · glasshouse parts position"


def parts(
    family: Annotated[str | None, typer.Argument(help="A family, such as attention; by default all, a line each.")] = None,
) -> None:
    """List the parts that a spec can name; with a family, the formula, cost, source, settings and limits of each part."""
    import glasshouse
    from glasshouse.cli.tables import console, show

    if family is None:
        rows = [(name, field, ", ".join(words)) for name, (field, words) in glasshouse.part_families().items()]
        show(("family", "field", "words"), rows)
        return
    meanings = glasshouse.capabilities()
    for entry in glasshouse.parts_of(family):
        console.print(f"[bold]{entry.field}={entry.word}[/bold]  ({entry.name})")
        for paragraph in (*entry.about.split("\n\n"), entry.source):
            if paragraph:
                console.print(" ".join(paragraph.split()), markup=False)
        for setting in entry.settings:
            console.print(f"- {setting.name} = {setting.default!r}: {setting.about}", markup=False)
        for capability, reason in entry.unsupported.items():
            console.print(f"- lacks {capability} ({meanings[capability]}): {reason}", markup=False)
        console.print()
