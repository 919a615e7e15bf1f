"""Which reader a file from elsewhere needs, and which writer a format: the doors of this package."""

import json
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from glasshouse.interop import gguf_export, gguf_import, huggingface, llama2c
from glasshouse.interop.imported_model import Imported
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport

EXPORTS: dict[str, Callable[[Run, Path], None]] = {"huggingface": huggingface.export, "gguf": gguf_export.export}
# How pickled weights are called, which are never read.
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt")


def read(source: str | PathLike[str], tokenizer: Path | None = None) -> Imported:
    """A model from a Hugging Face directory or hub name, a GGUF file or a llama2.c file.

    A llama2.c file may be given its tokenizer file, any other a tokenizer.json instead of its own.
    """
    path = Path(source)
    if tokenizer is None or path.suffix == ".bin":
        return _read(path, source, tokenizer)
    try:
        document = json.loads(tokenizer.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotImport(
            "unreadable-tokenizer", f"cannot read the tokenizer {tokenizer}: {error}; give a tokenizer.json"
        ) from None
    return replace(_read(path, source, None), tokenizer=document)


def _read(path: Path, source: str | PathLike[str], tokenizer: Path | None) -> Imported:
    if not path.is_file():
        return huggingface.read(huggingface.resolve(str(source)))
    with open(path, "rb") as file:
        begins = file.read(8)
    if begins[:4] == b"GGUF" or path.suffix == ".gguf":
        return gguf_import.read(path)
    if path.suffix in PICKLES or begins[:2] in (b"PK", b"\x80\x02"):
        raise CannotImport(
            "pickle-refused",
            f"{path} is a pickle checkpoint, and nothing is ever unpickled here: opening one can run any program; "
            "save the model as safetensors (save_pretrained does) and import the directory",
        )
    if path.suffix == ".safetensors":
        raise CannotImport(
            "unknown-model-format", f"{path} is only the weights; import the directory that holds it and its config.json"
        )
    if path.suffix == ".bin":
        return llama2c.read(path, tokenizer)
    raise CannotImport(
        "unknown-model-format",
        f"{path} is no model that can be imported; give a Hugging Face directory, a .gguf file or a llama2.c .bin file",
    )
