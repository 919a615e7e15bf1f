"""`glasshouse card`: the model card of a run in Markdown."""

from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Overwrite, Run

EXAMPLES = "Examples: glasshouse card demo-lm · glasshouse card demo-lm --output README.md"


def card(
    run: Run,
    output: Annotated[Path | None, typer.Option(help="The .md file to write; default: print the card.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the model card of a run in Markdown: what it is, its data and their licence, figures, limits, its command.

    `glasshouse export --to huggingface` puts it beside the weights, as README.md.
    """
    from glasshouse.api import reports, runs
    from glasshouse.cli.tables import console, shown

    if output is not None:
        runs.check_output(output, overwrite)
    text = reports.card(run, output)
    if output:
        console.print(f"wrote {output}", markup=False, soft_wrap=True)
    else:
        print(shown(text), end="")
