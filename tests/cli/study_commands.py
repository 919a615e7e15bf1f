"""Small studies for the tests of `compare`, `sweep`, `studies` and `resume`."""

import json
from pathlib import Path
from typing import Any

from .program import (
    SMALL,
    Outcome,
    call,
)

TINY = (*SMALL, "data.tokenizer=characters", "training.steps=4", "evaluation.every=2")
POSITIONS = "model.position=learned,none"
ALONE = ("--replicas", "off", "--device", "cpu")
# Facts that differ between two runs of the same study.
CLOCKS = ("seconds", "memory", "created", "machine")


def compare(text: Path, *words: str, kind: str = "compare") -> Outcome:
    """A study of something very small on the CPU."""
    return call(kind, "language-model", *TINY, f"data.files={text}", *words, *ALONE)


def results(study: Path) -> dict[str, Any]:
    """What a study found, without what clocks say."""
    comparison = json.loads((study / "comparison.json").read_text())
    for one in (comparison, *comparison["arms"]):
        for name in CLOCKS:
            one.pop(name, None)
    return comparison


def run_names(study: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(study)) for path in study.glob("*/*/run.json"))
