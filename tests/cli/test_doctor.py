"""`glasshouse doctor`."""

import html
import json
from pathlib import Path

import pytest

from glasshouse.training import cost_plan, format_timing

from .program import (
    SMALL,
    call,
    worked,
)


def test_doctor() -> None:
    shown = worked(call("doctor", "--device", "cpu")).out
    for words in ("cores", "memory", "torch", "fp32", "bf16", "FLOP"):
        assert words in shown


def test_doctor_with_a_recipe(text: Path) -> None:
    shown = worked(call("doctor", "language-model", *SMALL, f"data.files={text}", "--device", "cpu")).out
    for words in ("fp32", "parameters", "FLOPs", "memory", "time"):
        assert words in shown


@pytest.mark.slow
def test_measured_settings_are_shown(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_timing, "ROUNDS", 1)
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    words = [word for word in SMALL if not word.startswith(("training.precision", "training.threads"))]
    recipe = ("language-model", *words, f"data.files={text}")
    assert "by rule" in worked(call("doctor", *recipe, "--device", "cpu")).out
    shown = worked(call("doctor", *recipe, "--measure", "--device", "cpu")).out
    for word in ("fp32 on 1 thread", "median", "fastest", "training.precision=fp32"):
        assert word in shown


@pytest.mark.slow
def test_training_says_what_it_chose_and_why(text: Path) -> None:
    words = [word for word in SMALL if not word.startswith(("training.precision", "training.threads"))]
    trained = worked(call("train", "language-model", *words, f"data.files={text}", "--name", "told", "--device", "cpu"))
    choice = json.loads(Path("runs/told/run.json").read_text())["plan"]["choice"]
    assert "by rule" in choice
    assert choice in trained.err
    assert html.escape(choice) in Path("runs/told/report.html").read_text()
