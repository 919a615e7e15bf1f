"""Smaller sources of scenes for the tests in this folder."""

import pytest

from glasshouse.data.sources.scenes import entailment, pictures, translations


@pytest.fixture
def small_sources(monkeypatch):
    """Every source has a tenth of its documents."""
    for module in (entailment, pictures, translations):
        monkeypatch.setattr(module, "SIZES", {split: size // 10 for split, size in module.SIZES.items()})
