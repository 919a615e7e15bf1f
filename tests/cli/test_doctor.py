"""`glasshouse doctor`."""

from pathlib import Path

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
