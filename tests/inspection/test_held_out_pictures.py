"""Descriptions of pictures: those of the task, for files, numbers of held-out pictures and arrays."""

import numpy as np
import pytest
from PIL import Image

import glasshouse
from glasshouse.data.sources.scenes import pictures
from glasshouse.inspection.held_out_pictures import describe
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.refusals import refused


def test_files_numbers_and_arrays_of_one_picture_are_described_alike(describer, tmp_path):
    document = pictures.make_document("test", 2)
    Image.fromarray(document.picture).save(tmp_path / "scene.png")
    shares: list[float] = []
    by_number, by_file, by_array = describe(describer, [2, tmp_path / "scene.png", document.picture], shares.append)
    assert by_number.text == by_file.text == by_array.text
    assert (by_number.caption, by_file.caption) == (document.text, "")
    assert (by_number.name, by_file.name) == ("held-out picture 2", "scene.png")
    assert shares[-1] == 1
    task, settings = describer.task, describer.spec.evaluation
    assert [by_number.text] == task.describe_pictures(describer.model, document.picture[None], settings)


@pytest.mark.slow
def test_without_pictures_the_first_held_out_ones_are_described_and_drawn(describer, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "SIZES", {"train": 16, "validation": 4, "test": 8})
    found = glasshouse.runs.describe(describer.folder.path, output=tmp_path / "captions.png", device="cpu")
    assert [each.caption for each in found] == [pictures.make_document("test", index).text for index in range(6)]
    with Image.open(tmp_path / "captions.png") as image:
        assert image.width > image.height, "three columns and two rows"


def test_pictures_that_cannot_be_described_are_refused(describer, tmp_path):
    with refused(GlasshouseError, "4"):
        describe(describer, ["4"])
    with refused(GlasshouseError, "(3, 3, 3)"):
        describe(describer, [np.zeros((3, 3, 3), np.uint8)])
    (tmp_path / "text.png").write_text("no picture")
    with refused(DataError, "text.png"):
        describe(describer, [tmp_path / "text.png"])


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_other_models_are_refused(inspected):
    with refused(GlasshouseError, "glasshouse train scene-describer"):
        describe(inspected, [0])
