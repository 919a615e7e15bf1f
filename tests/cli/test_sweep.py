"""`glasshouse sweep`."""

from pathlib import Path

import pytest

from glasshouse.specs.errors import SpecError

from .program import (
    refused,
    worked,
)
from .study_commands import compare, results

pytestmark = pytest.mark.usefixtures("short_trials")


@pytest.mark.slow
def test_a_sweep_over_a_grid(short_text: Path) -> None:
    words = ("training.learning_rate=1e-3..1e-1:log:2", "training.weight_decay=0,0.1")
    worked(compare(short_text, *words, "--seeds", "2", "--name", "grid", "--metric", "test.bits_per_byte", kind="sweep"))
    comparison = results(Path("studies/grid"))
    assert len(comparison["arms"]) == 4
    assert comparison["metric"] == "test.bits_per_byte"
    changes = [arm["changes"] for arm in comparison["arms"]]
    assert {change["training.learning_rate"] for change in changes} == {"1e-3", "1e-1"}
    assert {change["training.weight_decay"] for change in changes} == {"0", "0.1"}
    pairs = [tuple(float(value) for value in change.values()) for change in changes]
    assert pairs == sorted(pairs)


def test_a_sweep_needs_values(short_text: Path) -> None:
    Path("a.toml").write_text("[model]\nwidth = 8\n")
    refused(compare(short_text, "a.toml", kind="sweep"), SpecError)
    refused(compare(short_text, "training.learning_rate=1e-4..1e-2", kind="sweep"), SpecError)
