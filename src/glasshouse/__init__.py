"""Glasshouse grows Transformers where you can see them.

The names below are the workbench's functions; torch is imported when the first of them is used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_FUNCTIONS = (
    "augment",
    "certify",
    "claims",
    "claims_report",
    "classify",
    "compare",
    "data_sets",
    "doctor",
    "evaluate",
    "export",
    "features",
    "few_shot",
    "get_data",
    "import_model",
    "list_runs",
    "list_studies",
    "open_run",
    "open_study",
    "plan",
    "prompt",
    "recipes",
    "replay",
    "report",
    "resume",
    "sample",
    "sweep",
    "train",
    "train_replicas",
    "train_tokenizer",
    "translate",
    "try_claim",
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
