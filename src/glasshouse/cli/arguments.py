"""Arguments and options that several commands share."""

from typing import Annotated

import typer

Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's name (see `glasshouse runs`) or its folder.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="FIELD=VALUE", help="Changes to the spec: model.width=64 ...")
]
LabelledData = Annotated[
    str,
    typer.Option("--task", metavar="DATA", help="A data set with labels (see `glasshouse data`), or a file of rows."),
]
