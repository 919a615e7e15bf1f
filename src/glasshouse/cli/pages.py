"""`glasshouse pages`: an index page over all runs and studies, written as files or served while things train."""

from typing import Annotated

import typer

EXAMPLES = (
    "Examples: glasshouse pages · glasshouse pages shared-folder · glasshouse pages --live · "
    "glasshouse pages shared-folder --live --port 9000"
)


def pages(
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="FOLDER", help="A folder of runs or studies, or with runs/ and studies/; default: those of this project."
        ),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Serve the pages on this machine, and refresh them.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="With --live: the port; default: 8010; 0 takes any free one.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="GLASSHOUSE_PAGES_TOKEN", help="With --live: the token of the address; default: a random one."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write an index page over all runs and studies, with their curves laid over each other.

    The index is index.html in the runs folder, or in FOLDER. It needs no server. Call the command again to refresh it.

    With --live the same pages are served while things train: curves move, samples appear, and a run can be stopped, resumed
    or have its report made. The printed address contains a token; without it every request is refused.
    """
    import glasshouse
    from glasshouse.api import pages
    from glasshouse.cli.tables import console, shown

    if not live:
        if port is not None:
            raise glasshouse.GlasshouseError("is for pages that are served; add --live", "port", port)
        path = pages.write_pages(folder)
        print(shown(str(path), raw=True))
        if open_:
            pages.open_browser(path.absolute().as_uri())
        return

    def started(address: str) -> None:
        console.print(f"pages at {address} (Ctrl-C ends them)", markup=False, soft_wrap=True, highlight=False)
        if open_:
            pages.open_browser(address)

    pages.serve_pages(folder, 8010 if port is None else port, token, started)
