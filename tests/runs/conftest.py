"""Fixtures of the tests of runs: a text, and quick training."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from glasshouse.training import cost_plan, devices


@pytest.fixture(autouse=True)
def quick_training(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute on one thread, which is fastest for models this small, and time as few steps as possible before training."""
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    with devices.threads(1):
        yield


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("The state of our union is strong, and we will keep it so for all who come after us.\n" * 60)
    return path
