"""The supported formats: finds the files of a model, detects which reader they need, and lists the exporters."""

import importlib.util
import re
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse.interop import gguf_models, huggingface, llama2c, onnx_export
from glasshouse.interop.huggingface import CONFIG, INDEX, WEIGHTS
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.records import kept_json
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport, MissingExtra

EXPORTS: dict[str, Callable[[Run, Path], None]] = {
    "huggingface": huggingface.export,
    "gguf": gguf_models.export,
    "onnx": onnx_export.export,
}
# What precedes the name of a model to download, and of a package that holds one.
HUB, PACKAGE = "hub:", "package:"
# How a compressed file begins, such as a packed run.
GZIP = b"\x1f\x8b"


def read(source: str | PathLike[str], tokenizer: Path | None = None) -> ImportedModel:
    """A model from a Hugging Face directory (hub:NAME downloads one, package:NAME is in an installed package), a GGUF file
    or a llama2.c file.

    `tokenizer` replaces the tokenizer that comes with the model. It is a llama2.c tokenizer file for a llama2.c model, and a
    tokenizer.json for any other.
    """
    path = resolve(source)
    try:
        imported = _read(path, tokenizer)
    except MemoryError:
        raise CannotImport(
            f"{path} does not fit into the memory of this machine; import it on a larger one, or choose a smaller model"
        ) from None
    if tokenizer is None or path.suffix == ".bin":
        return imported
    return replace(imported, tokenizer=kept_json.required(tokenizer, Any, "give a tokenizer.json", CannotImport))


def _read(path: Path, tokenizer: Path | None) -> ImportedModel:
    if not path.is_file():
        return huggingface.read(path)
    with open(path, "rb") as file:
        first_bytes = file.read(8)
    if first_bytes[:4] == b"GGUF" or path.suffix == ".gguf":
        return gguf_models.read(path)
    if path.suffix in (".pt", ".pth", ".pkl", ".pickle", ".ckpt") or first_bytes[:2] in (b"PK", b"\x80\x02"):
        raise CannotImport(f"{path} is a pickle, which can run any code and is never opened; save the model as safetensors")
    if path.suffix == ".safetensors":
        raise CannotImport(f"{path} holds weights without a config; import the directory with it and config.json")
    if first_bytes[:2] == GZIP:
        raise CannotImport(f"{path} is compressed; a packed run is opened with: glasshouse unpack {path}")
    if path.suffix == ".bin":
        return llama2c.read(path, tokenizer)
    raise CannotImport(f"{path} is no model file; give a Hugging Face directory, a .gguf file or a llama2.c .bin file")


def resolve(name_or_path: str | PathLike[str]) -> Path:
    """The file or directory at a path. `package:NAME` is in an installed package, and `hub:owner/name` is downloaded.

    Nothing else uses the network.
    """
    path, text = Path(name_or_path), str(name_or_path)
    if text.startswith(PACKAGE):
        return package_directory(text.removeprefix(PACKAGE))
    name = text.removeprefix(HUB)
    is_name = re.fullmatch(r"([A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", name)
    if not text.startswith(HUB):
        if not path.exists():
            remedy = f"give a path, or {HUB}{name} to download it from the Hugging Face hub" if is_name else "give a path"
            raise CannotImport(f"there is no file or directory {name!r}; {remedy}")
        return path
    if not is_name:
        raise CannotImport(f"{name!r} is not a name on the Hugging Face hub; write {HUB} and a name like owner/name")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("huggingface_hub", f"downloading {name!r} from the Hugging Face hub") from None
    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors"]))
    except Exception as error:  # any error of the hub, the network or the disk
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise CannotImport(
            f"{name!r} could not be downloaded from the Hugging Face hub ({reason}); check the name and the network"
        ) from None


def package_directory(name: str) -> Path:
    """The directory with config.json and safetensors in an installed package. `NAME/FOLDER` chooses one of several.

    No code of the package is run, not even its import.
    """
    package, _, folder = name.partition("/")
    root = _package_folder(package)
    directories = [
        path.parent
        for path in sorted(root.rglob(CONFIG))
        if (path.parent / WEIGHTS).is_file() or (path.parent / INDEX).is_file()
    ]
    if folder:
        directories = [directory for directory in directories if directory == root / folder]
    if len(directories) == 1:
        return directories[0]
    if directories:
        found = ", ".join(f"{PACKAGE}{package}/{directory.relative_to(root)}" for directory in directories)
        raise CannotImport(f"the package {package!r} has several models; choose one of: {found}")
    pickles = huggingface.pickles_in(root / folder)
    raise CannotImport(f"the package {name!r} has no folder with {CONFIG} and {WEIGHTS}{pickles}; choose another")


def _package_folder(name: str) -> Path:
    """The folder of an installed package. Its import name is accepted, and the same with hyphens."""
    module = name.replace("-", "_")
    # A dotted name would import the parent package.
    spec = importlib.util.find_spec(module) if re.fullmatch(r"[A-Za-z_]\w*", module) else None
    if spec is None or not spec.submodule_search_locations:
        raise CannotImport(f"no package {name!r} with files is installed; pip install {name}, or give a directory")
    return Path(next(iter(spec.submodule_search_locations)))
