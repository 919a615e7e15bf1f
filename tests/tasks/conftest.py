"""Fixtures of the tests of tasks: quick training, and pictures with captions."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glasshouse.training import cost_plan, devices, replica_count

COLOURS = {"red": (220, 30, 30), "green": (30, 180, 60), "blue": (30, 60, 220), "black": (10, 10, 10)}


@pytest.fixture(autouse=True)
def quick_training(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute on one thread, which is fastest for models this small, and time as few steps as possible before training."""
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    with devices.threads(1):
        yield


@pytest.fixture
def always_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs train together, whatever the size of their steps."""
    monkeypatch.setattr(replica_count, "FEWEST", 2)
    monkeypatch.setitem(replica_count.LIMITS, "cpu", float("inf"))


@pytest.fixture
def picture_file(tmp_path: Path) -> Path:
    """Pictures with a left half and a right half of one colour each, and captions that name the colours."""
    generator = np.random.default_rng(0)
    lines = []
    for number in range(160):
        names = generator.choice(list(COLOURS), 2)
        halves = [np.full((20, 10, 3), COLOURS[name], np.int16) for name in names]
        noisy = np.concatenate(halves, axis=1) + generator.integers(-10, 10, (20, 20, 3))
        path = tmp_path / "pictures" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path)
        lines.append(f"pictures/{number}.png\t{names[0]} and {names[1]}\n")
    (tmp_path / "mine.tsv").write_text("".join(lines))
    return tmp_path / "mine.tsv"
