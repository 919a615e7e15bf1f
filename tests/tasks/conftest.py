"""Fixtures of the tests of tasks: quick training."""

from collections.abc import Iterator

import pytest

from glasshouse.training import cost_plan, devices


@pytest.fixture(autouse=True)
def quick_training(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute on one thread, which is fastest for models this small, and time as few steps as possible before training."""
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    with devices.threads(1):
        yield
