"""Sprites: similar fish have different colours."""

from random import Random

from glasshouse.data.sources.scenes.meaning import Group, Meaning
from glasshouse.data.sources.scenes.rendering import draw_scene


def test_goldfish_and_nemo_look_different():
    def golden_and_orange_pixels(kind):
        picture = draw_scene(Meaning((Group(kind, 1),)), Random(1)).astype(int)
        golden = (picture[..., 0] > 230) & (picture[..., 1] > 150) & (picture[..., 2] < 90)
        orange = (picture[..., 0] > 190) & (picture[..., 1] < 130) & (picture[..., 2] < 90)
        return int(golden.sum()), int(orange.sum())

    assert golden_and_orange_pixels("goldfish")[0] > 15 > golden_and_orange_pixels("nemo")[0]
    assert golden_and_orange_pixels("nemo")[1] > 8 > golden_and_orange_pixels("goldfish")[1]
