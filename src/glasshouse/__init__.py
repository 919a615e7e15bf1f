"""Glasshouse grows Transformers where you can see them.

The names below are the workbench's functions; torch is imported when the first of them is used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_FUNCTIONS = (
    "augment",
    "certify",
    "classify",
    "data_sets",
    "doctor",
    "evaluate",
    "export",
    "features",
    "few_shot",
    "get_data",
    "import_model",
    "list_runs",
    "open_run",
    "plan",
    "prompt",
    "recipes",
    "replay",
    "report",
    "resume",
    "sample",
    "train",
    "train_tokenizer",
    "translate",
)
_PACKAGES = ("data", "inspection", "models", "parts", "runs", "tokenizers")


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module("glasshouse.workbench"), name)
    if name in _PACKAGES:
        return import_module(f"glasshouse.{name}")
    raise AttributeError(f"module 'glasshouse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_FUNCTIONS, *_PACKAGES])
