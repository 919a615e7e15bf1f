"""`glasshouse export`: a run becomes files that other programs read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Run

EXAMPLES = (
    "Examples: glasshouse export demo-lm --to huggingface --output demo-lm-hf · "
    "glasshouse export demo-lm --to gguf --output demo-lm.gguf"
)


class Format(StrEnum):
    huggingface = "huggingface"
    gguf = "gguf"


def export(
    run: Run,
    to: Annotated[Format, typer.Option(help="What to write: a directory for transformers, or one file for llama.cpp.")],
    output: Annotated[Path, typer.Option(help="The directory or file to write; it must not exist yet.")],
) -> None:
    """Write a run for Hugging Face's transformers or for llama.cpp, its tokenizer with it.

    A run whose parts the other side does not have is refused, with the part that does not fit.
    """
    import glasshouse
    from glasshouse.cli.tables import console

    path = glasshouse.export(run, to.value, output)
    console.print(f"wrote {path}", markup=False, soft_wrap=True)
