"""Fixtures of the tests of runs: those of the training tests."""

from tests.training.conftest import quick_training, text

__all__ = ["quick_training", "text"]
