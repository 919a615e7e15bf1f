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
RunOrStudy = Annotated[
    str, typer.Argument(metavar="NAME", help="A run's or a study's name (see `glasshouse runs`, `studies`) or its folder.")
]
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="RECIPE... FIELD=VALUES...",
        help="Recipes, and changes to them: model.norm=layer,rms makes an arm of each, model.width=64 holds for all.",
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(metavar="SPLIT.METRIC", help="What decides, such as test.bits_per_byte; by default the validation loss."),
]
Match = Annotated[
    str, typer.Option(help="What every arm gets as much of as the first: steps, tokens, flops, parameters or time.")
]
Margin = Annotated[
    float | None,
    typer.Option(help="A difference that would not matter; by default one deviation between seeds of the first arm."),
]
Alpha = Annotated[float, typer.Option(help="How often a false verdict may be given where nothing differs.")]
StudyName = Annotated[str | None, typer.Option("--name", help="The study's name; by default after what is compared.")]
Replicas = Annotated[
    str, typer.Option(metavar="auto|off|N", help="Seeds of an arm that train side by side; auto measures what is faster.")
]
