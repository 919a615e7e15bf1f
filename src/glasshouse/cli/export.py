"""`glasshouse export`: write a run in the format of another program."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Run

EXAMPLES = (
    "Examples: glasshouse export demo-lm --to huggingface --output demo-lm-hf · "
    "glasshouse export demo-lm --to gguf --output demo-lm.gguf · "
    "glasshouse export demo-lm --to onnx --output demo-lm-onnx"
)


class Format(StrEnum):
    """The formats that a run can be exported to."""

    huggingface = "huggingface"
    gguf = "gguf"
    onnx = "onnx"


def export(
    run: Run,
    to: Annotated[Format, typer.Option(help="The format: huggingface or onnx (a directory), gguf (a file for llama.cpp).")],
    output: Annotated[Path, typer.Option(help="The directory or file to write; it must not exist.")],
) -> None:
    """Export a run, with its tokenizer, for Hugging Face's transformers, llama.cpp or onnxruntime.

    If the format cannot express a part of the model, the error names that part.
    """
    import glasshouse
    from glasshouse.cli.tables import console

    path = glasshouse.export(run, to.value, output)
    console.print(f"wrote {path}", markup=False, soft_wrap=True)
