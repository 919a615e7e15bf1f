"""`glasshouse data`: list, fetch and show data sets."""

from typing import Annotated

import typer

app = typer.Typer(
    help="List the data sets; `get` fetches one, `show` describes one.",
    invoke_without_command=True,
    epilog="Examples: glasshouse data · glasshouse data get shakespeare · glasshouse data show state-of-the-union",
)
Name = Annotated[str, typer.Argument(help="The name of a data set.")]


@app.callback()
def listing(context: typer.Context) -> None:
    """List the data sets; `get` fetches one, `show` describes one."""
    if context.invoked_subcommand is None:
        import glasshouse
        from glasshouse.cli.tables import show as show_table

        rows = [
            (entry.name, entry.about, f"{'yes' if entry.present else 'no'}: {entry.availability}", entry.licence)
            for entry in glasshouse.data_sets()
        ]
        show_table(("name", "description", "available", "licence"), rows)


@app.command(epilog="Example: glasshouse data get shakespeare")
def get(name: Name) -> None:
    """Fetch a data set into the cache and verify its checksum."""
    import glasshouse

    for path in glasshouse.get_data(name):
        print(path)


@app.command(epilog="Example: glasshouse data show state-of-the-union")
def show(name: Name) -> None:
    """Show the origin, licence and splits of a data set, and the beginning of its text."""
    import glasshouse
    from glasshouse.cli.tables import console
    from glasshouse.cli.tables import show as show_table
    from glasshouse.formatting import size

    entry, splits = glasshouse.data_set(name)
    show_table((name, ""), [("description", entry.about), ("origin", entry.origin), ("licence", entry.licence)])
    rows = [(split.name, f"{split.documents:,}", size(split.bytes)) for split in splits]
    show_table(("split", "documents", "text"), rows, right=(1, 2))
    console.print(splits[0].excerpt, markup=False)
