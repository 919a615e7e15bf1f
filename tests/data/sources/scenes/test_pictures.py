"""Pictures of scenes: reproducible, of the requested size, with the right number of objects in the right places."""

from itertools import product
from random import Random

import numpy as np
import pytest
from scipy import ndimage

from glasshouse.data.sources.scenes import pictures
from glasshouse.data.sources.scenes.meaning import COUNTS, FISH, RELATIONS, Group, Meaning
from glasshouse.data.sources.scenes.pictures import draw_scene


def test_pictures_are_reproducible_and_have_the_requested_size(small_sources):
    documents = list(pictures.Scenes().documents("test"))
    assert all(document.picture.shape == (32, 32, 3) and document.picture.dtype == np.uint8 for document in documents)
    again = pictures.make_document("test", 7)
    assert again.text == documents[7].text
    assert np.array_equal(again.picture, documents[7].picture)
    assert pictures.make_document("test", 7, size=48).picture.shape == (48, 48, 3)
    assert pictures.Scenes(48).fingerprint() != pictures.Scenes().fingerprint()


def test_unseen_scenes_have_the_same_captions_and_one_blank_picture(small_sources):
    seen, unseen = (list(source.documents("test")) for source in (pictures.Scenes(), pictures.UnseenScenes()))
    assert [document.text for document in unseen] == [document.text for document in seen]
    assert {document.picture.tobytes() for document in unseen} == {np.full((32, 32, 3), pictures.BLANK, np.uint8).tobytes()}
    assert pictures.UnseenScenes().fingerprint() != pictures.Scenes().fingerprint()


@pytest.mark.parametrize("kind", ["circle", "square", "triangle", "goldfish", "tang", "shark"])
def test_a_picture_shows_the_right_number_of_objects(kind):
    for count, seed in product(COUNTS, range(5)):
        picture = draw_scene(Meaning((Group(kind, count, "" if kind in FISH else "blue"),)), Random(seed)).astype(int)
        background = np.median(picture.reshape(-1, 3), axis=0)
        _, objects = ndimage.label(np.abs(picture - background).max(-1) > 8, structure=np.ones((3, 3)))
        assert objects == count


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_picture_shows_the_relation(relation):
    meaning = Meaning((Group("circle", 2, "red"), Group("square", 3, "blue")), relation)
    picture = draw_scene(meaning, Random(0)).astype(int)
    red = np.argwhere(picture[..., 0] - picture[..., 2] > 100)
    blue = np.argwhere(picture[..., 2] - picture[..., 0] > 100)
    axis = 0 if relation == "above" else 1
    assert red[:, axis].max() < 16 <= blue[:, axis].min()


def test_goldfish_and_nemo_look_different():
    def golden_and_orange_pixels(kind):
        picture = draw_scene(Meaning((Group(kind, 1),)), Random(1)).astype(int)
        golden = (picture[..., 0] > 230) & (picture[..., 1] > 150) & (picture[..., 2] < 90)
        orange = (picture[..., 0] > 190) & (picture[..., 1] < 130) & (picture[..., 2] < 90)
        return int(golden.sum()), int(orange.sum())

    assert golden_and_orange_pixels("goldfish")[0] > 15 > golden_and_orange_pixels("nemo")[0]
    assert golden_and_orange_pixels("nemo")[1] > 8 > golden_and_orange_pixels("goldfish")[1]
