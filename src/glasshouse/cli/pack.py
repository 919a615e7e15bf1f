"""`glasshouse pack`: write a run to one file."""

from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Run

EXAMPLES = "Examples: glasshouse pack demo-lm · glasshouse pack demo-lm --output copy.tar.gz"


def pack(
    run: Run,
    output: Annotated[
        Path | None, typer.Option(help="The file to write, which must not exist; default: RUN.tar.gz in this folder.")
    ] = None,
) -> None:
    """Write a run to one file, for another machine: weights, optimiser state, spec, tokenizer, metrics and report.

    The data that it was trained on are not packed. `glasshouse unpack` makes the run again.
    """
    from glasshouse.api import listings
    from glasshouse.cli.tables import console
    from glasshouse.formatting import size

    path = listings.pack(run, output)
    console.print(f"wrote {path} ({size(path.stat().st_size)})", markup=False, soft_wrap=True)
