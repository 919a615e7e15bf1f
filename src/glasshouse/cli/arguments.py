"""Command-line arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from glasshouse.cli.options import at_most

Run = Annotated[str, typer.Argument(metavar="RUN", help="The name of a run (see `glasshouse runs`) or its folder.")]
Device = Annotated[str, typer.Option(help="The device to compute on: auto, cpu, cuda or mps.")]
DType = Annotated[
    str,
    typer.Option(
        metavar="float32|bfloat16|int8",
        help="The number format of the weights. bfloat16 is faster on a GPU, int8 on a CPU; both are less precise.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FIELD=VALUE",
        help="Fields of the spec to change, such as model.width=64; lr, batch_size, n_layer, ... work too.",
    ),
]
Limits = Annotated[
    str,
    typer.Option(
        metavar="NAME=NUMBER,...",
        help="Raise limits on what is read of a file: line=100 (million characters), expansion, table, nesting, columns.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file of --output if it exists.")]
LabelledData = Annotated[
    str,
    typer.Option("--task", metavar="DATA", help="A labelled data set (see `glasshouse data`) or a file of labelled rows."),
]
RunOrStudy = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The name of a run or a study (see `glasshouse runs` and `studies`) or its folder."),
]
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="RECIPE... FIELD=VALUES...",
        help="Recipes and changes to them: model.norm=layer,rms makes an arm per value, model.width=64 applies to all arms.",
    ),
]
LanguageModel = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model of llms.toml, the name of a run (or run:NAME), or gguf:FILE."),
]
Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The list of language models; default: llms.toml, if it exists.")
]
Temperature = Annotated[float, typer.Option(help="The sampling temperature; 0 is greedy decoding.")]
TopP = Annotated[
    float, typer.Option(help="Sample from the most likely tokens whose probabilities sum to P; 1 turns this off.")
]
MaxTokens = Annotated[int, typer.Option(min=1, callback=at_most(10**6), help="The largest number of tokens of an answer.")]
System = Annotated[str, typer.Option(help="A system message: what the model is told before the chat.")]
On = Annotated[
    Literal["slurm"] | None,
    typer.Option("--on", help="Where the work is done: slurm submits it to the cluster; default: on this machine."),
]
