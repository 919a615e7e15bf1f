"""`glasshouse recipes`."""

import re

import pytest

import glasshouse
from glasshouse.specs import recipes

from .program import (
    call,
    worked,
)


def test_recipes() -> None:
    shown = worked(call("recipes")).out
    for recipe in glasshouse.runs.recipes():
        assert recipe.name in shown
        assert recipe.about[:30] in shown


def test_recipes_with_a_name() -> None:
    shown = worked(call("recipes", "demo-lm")).out
    tables = recipes.tables_of("demo-lm")
    assert re.search(rf"training.steps\s+{tables['training']['steps']}\s", shown)
    assert re.search(rf"data.source\s+{tables['data']['source']}\s", shown)
    assert "attention heads of a block" in shown


@pytest.mark.slow
def test_every_recipe_can_be_shown() -> None:
    for recipe in glasshouse.runs.recipes():
        worked(call("recipes", recipe.name))
