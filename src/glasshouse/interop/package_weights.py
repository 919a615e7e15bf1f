"""Finds the model directory inside an installed Python package. No code of the package is run, not even its import."""

import importlib.util
import re
from pathlib import Path

from glasshouse.interop.huggingface import CONFIG, INDEX, PICKLES, WEIGHTS
from glasshouse.specs.errors import CannotImport

# What precedes the name of a package that holds a model.
PACKAGE = "package:"


def model_directory(name: str) -> Path:
    """The directory with config.json and safetensors in a package. `NAME/FOLDER` chooses one of several."""
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
    if pickles := sorted(path.name for pattern in PICKLES for path in (root / folder).rglob(pattern)):
        raise CannotImport(
            f"the package {name!r} has no {WEIGHTS}, only {', '.join(pickles[:3])}; pickles are never opened, because they "
            "can run any code; choose a package with safetensors"
        )
    raise CannotImport(
        f"the package {name!r} has no folder with {CONFIG} and {WEIGHTS}; choose a package that holds a Hugging Face model"
    )


def _package_folder(name: str) -> Path:
    """The folder of an installed package. Its import name is accepted, and the same with hyphens."""
    module = name.replace("-", "_")
    # A dotted name would import the parent package.
    spec = importlib.util.find_spec(module) if re.fullmatch(r"[A-Za-z_]\w*", module) else None
    if spec is None or not spec.submodule_search_locations:
        raise CannotImport(
            f"there is no installed package {name!r} with files of its own; install it with: pip install {name}, "
            "or give the path of a model directory"
        )
    return Path(next(iter(spec.submodule_search_locations)))
