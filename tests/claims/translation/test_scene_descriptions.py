"""Descriptions of scenes: their adequacy, the best constant caption, and the curve over the number of objects."""

import pytest

from glasshouse.claims.translation import scene_descriptions
from glasshouse.data.sources.scenes.meaning import Group, Meaning

TWO = Meaning((Group("circle", 2, "red"), Group("shark", 1)), "above")
ONE = Meaning((Group("star", 4, "blue"),))


def test_any_wording_of_the_facts_is_adequate():
    captions = ["a shark is under two circles that are red", "a shark above two red circles", "four blue stars"]
    values = scene_descriptions.adequacies(captions, [TWO, TWO, ONE])
    assert values == pytest.approx([1, 5 / 6, 1])
    assert scene_descriptions.meaning_of("two red circles above a shark") == TWO
    with pytest.raises(ValueError, match="no caption"):
        scene_descriptions.meaning_of("nothing")


def test_the_curve_has_the_mean_over_scenes_and_seeds_of_each_number_of_objects():
    rows = {7: [0.5, 1.0, 0.0], 8: [0.7, 1.0, 0.2]}
    assert scene_descriptions.by_objects(rows, [TWO, ONE, ONE]) == (
        (3.0, pytest.approx(0.6)),
        (4.0, pytest.approx(0.55)),
    )
    assert scene_descriptions.count_objects(TWO) == 3


def test_one_constant_caption_suits_some_facts_of_the_scenes(few_scenes):
    values = scene_descriptions.best_constant_adequacies()
    assert len(values) == len(scene_descriptions.meanings_of_test_scenes()) == 12
    assert 0.1 < sum(values) / len(values) < 0.6
