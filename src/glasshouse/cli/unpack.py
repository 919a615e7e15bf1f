"""`glasshouse unpack`: make a run from a file that `glasshouse pack` wrote."""

from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.options import at_most

EXAMPLES = "Examples: glasshouse unpack demo-lm.tar.gz --name copy · glasshouse unpack copy.tar.gz --name another"


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `glasshouse pack` wrote.")],
    name: Annotated[str | None, typer.Option(help="The name of the run; default: the name that it had.")] = None,
    max_bytes: Annotated[
        int, typer.Option(min=1, callback=at_most(2**63 - 1), help="Refuse a run that is larger than this.")
    ] = 64 << 30,
) -> None:
    """Make a run from one file. Every file in it is compared with its SHA-256 digest.

    The digests show damage, not who wrote the file. Paths that lead out of the run folder, links and devices are refused.
    After an error nothing of the run remains.
    """
    from glasshouse.api import listings
    from glasshouse.cli.tables import console

    path = listings.unpack(file, name, max_bytes)
    console.print(f"unpacked {path.name}: {path}", markup=False, soft_wrap=True)
