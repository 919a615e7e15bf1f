"""The supported formats: detects which reader a model file needs, and lists the exporters."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from glasshouse.interop import gguf_export, gguf_import, huggingface, llama2c, onnx_export, package_weights
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.records import kept_json
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport

EXPORTS: dict[str, Callable[[Run, Path], None]] = {
    "huggingface": huggingface.export,
    "gguf": gguf_export.export,
    "onnx": onnx_export.export,
}
# The exports that have as many heads in every layer.
EQUAL_HEADS = ("huggingface", "gguf")
# How a compressed file begins, such as a packed run.
GZIP = b"\x1f\x8b"
# Suffixes of pickled weights, which are never read.
PICKLE_SUFFIXES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt")


def read(source: str | PathLike[str], tokenizer: Path | None = None) -> ImportedModel:
    """A model from a Hugging Face directory (hub:NAME downloads one, package:NAME is in an installed package), a GGUF file
    or a llama2.c file.

    `tokenizer` replaces the tokenizer that comes with the model. It is a llama2.c tokenizer file for a llama2.c model, and a
    tokenizer.json for any other.
    """
    if str(source).startswith(package_weights.PACKAGE):
        source = package_weights.model_directory(str(source).removeprefix(package_weights.PACKAGE))
    path = Path(source)
    if tokenizer is None or path.suffix == ".bin":
        return _read(path, source, tokenizer)
    try:
        document = kept_json.read(tokenizer)
    except (OSError, ValueError) as error:
        raise CannotImport(f"cannot read the tokenizer {tokenizer}: {error}; give a tokenizer.json") from None
    return replace(_read(path, source, None), tokenizer=document)


def _read(path: Path, source: str | PathLike[str], tokenizer: Path | None) -> ImportedModel:
    try:
        return _reader(path, source, tokenizer)
    except MemoryError:
        raise CannotImport(
            f"{source} does not fit into the memory of this machine; import it on a larger one, or choose a smaller model"
        ) from None


def _reader(path: Path, source: str | PathLike[str], tokenizer: Path | None) -> ImportedModel:
    if not path.is_file():
        return huggingface.read(huggingface.resolve(str(source)))
    with open(path, "rb") as file:
        first_bytes = file.read(8)
    if first_bytes[:4] == b"GGUF" or path.suffix == ".gguf":
        return gguf_import.read(path)
    if path.suffix in PICKLE_SUFFIXES or first_bytes[:2] in (b"PK", b"\x80\x02"):
        raise CannotImport(
            f"{path} is a pickle checkpoint, which is never opened because unpickling can run any code; "
            "save the model as safetensors (save_pretrained does) and import the directory"
        )
    if path.suffix == ".safetensors":
        raise CannotImport(f"{path} holds weights without a config; import the directory with it and config.json")
    if first_bytes[:2] == GZIP:
        raise CannotImport(f"{path} is compressed; a packed run is opened with: glasshouse unpack {path}")
    if path.suffix == ".bin":
        return llama2c.read(path, tokenizer)
    raise CannotImport(
        f"{path} is not a model file that can be imported; give a Hugging Face directory, a .gguf file or a llama2.c .bin "
        "file"
    )
