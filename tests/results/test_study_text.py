"""The text of a study: its description and the short names of its arms."""

import dataclasses

from glasshouse.pages.study_page import render
from glasshouse.results import study_text
from tests.pages import example_study as example
from tests.pages.html_outline import Outline


def test_recipes_as_arms_are_described() -> None:
    arms = [dataclasses.replace(arm, changes={}) for arm in example.study().arms[:2]]
    recipes = dataclasses.replace(example.study(), recipe="learned and sinusoidal", arms=tuple(arms), curve="loss")
    assert study_text.description(recipes)[0] == "learned and sinusoidal, 16 seeds each, matched by steps."
    assert "training loss" in Outline(render(recipes)).text


def test_short_names_stay_different() -> None:
    names = [f"model.attention=additive, model.width={width}" for width in (32, 64, 128)]
    for most in (12, 20, 30):
        short = study_text.short_names([*names, "rotary"], most)
        assert len(set(short)) == 4
        assert short[-1] == "rotary"
        assert all(len(name) <= most for name in short)
    grid = dataclasses.replace(
        example.study(), arms=tuple(dataclasses.replace(example.study().arms[0], name=name) for name in names)
    )
    assert study_text.labels(grid) == ("model.attention, model.width", ["additive, 32", "additive, 64", "additive, 128"])
    assert study_text.labels(example.study())[0] == ""
