"""The names that a package shows to users. Their modules stand above the package, and are imported when a name is used."""

import gc
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def face(
    package: str, names: Mapping[str, str], packages: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that shows packages, and names: module -> its names, as words."""
    places = {name: module for module, words in names.items() for name in words.split()}

    def get(name: str) -> Any:
        if name in places:
            return getattr(_import(f"glasshouse.{places[name]}"), name)
        if name in packages:
            return _import(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def shown() -> list[str]:
        module = import_module(package)
        classes = (name for name, value in vars(module).items() if isinstance(value, type))
        return sorted({*getattr(module, "__all__", classes), *places, *packages})

    return get, shown


def _import(name: str) -> ModuleType:
    """Import a module without garbage collection. What an import makes stays, and looking through it again and again takes a
    tenth of the time of `import torch`."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if collects:
            gc.enable()
