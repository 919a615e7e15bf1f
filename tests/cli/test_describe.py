"""A pulse of `glasshouse describe`: a very small model over few scenes, its table, its image and its refusals."""

import json
from pathlib import Path

import pytest

from glasshouse.data.sources.scenes import pictures
from glasshouse.specs.errors import GlasshouseError

from .program import call, refused, worked

TINY = (
    "model.width=16",
    "model.layers=1",
    "model.heads=2",
    "training.steps=2",
    "training.batch=8",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=2",
)


def test_pictures_are_described_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "SIZES", {"train": 16, "validation": 4, "test": 4})
    trained = worked(call("train", "scene-describer-decoder-only", *TINY, "--name", "tiny", "--device", "cpu"))
    assert "glasshouse describe tiny" in trained.out
    image = tmp_path / "captions.svg"
    shown = worked(call("describe", "tiny", "0", "1", "--output", str(image), "--device", "cpu"))
    assert "held-out picture 1" in shown.out
    assert "caption of the data" in shown.out
    assert "<svg" in image.read_text()
    found = json.loads(worked(call("describe", "tiny", "3", "--json", "--device", "cpu")).out)
    assert found[0]["caption"] == pictures.make_document("test", 3).text
    refused(call("describe", "tiny", "9", "--device", "cpu"), GlasshouseError)
    refused(call("describe", "tiny", "missing.png", "--device", "cpu"), GlasshouseError, "missing.png")
