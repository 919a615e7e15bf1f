"""The user's pictures: any picture becomes a square, and bad files are refused."""

import numpy as np
import pytest
from PIL import Image

from glasshouse.data.user_files.pictures import UserPictures, read_picture
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec
from tests.refusals import refused


def one_file(path):
    return DataSpec(files=(str(path),), picture_size=16, validation=0.0, test=0.0)


@pytest.mark.parametrize(
    ("lines", "refusal"),
    [
        ("whole.png\n", (DataError,)),
        ("gone.png\ta thing\n" * 3, (GlasshouseError, "gone.png")),
        ("bad.tsv\ta thing\n" * 3, (DataError,)),
        ("truncated.png\ta thing\n" * 3, (DataError,)),
        ("\ta thing\n", (DataError,)),
    ],
)
def test_a_bad_file_is_refused(tmp_path, lines, refusal):
    noise = np.random.default_rng(0).integers(0, 255, (20, 20, 3))
    Image.fromarray(noise.astype(np.uint8)).save(tmp_path / "whole.png")
    whole = (tmp_path / "whole.png").read_bytes()
    (tmp_path / "truncated.png").write_bytes(whole[: len(whole) // 2])
    bad = tmp_path / "bad.tsv"
    bad.write_text(lines)
    with refused(*refusal):
        list(UserPictures(one_file(bad)).documents("train"))
    bad.rename(bad.with_suffix(".dat"))
    with refused(DataError):
        UserPictures(one_file(bad.with_suffix(".dat"))).fingerprint()


def test_a_picture_of_any_shape_and_mode_becomes_its_middle_square(tmp_path):
    wide = np.zeros((20, 60, 4), np.uint8)
    wide[:, 20:40] = (0, 0, 255, 255)
    wide[:, :20] = (255, 0, 0, 255)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    picture = read_picture(tmp_path / "wide.png", 10)
    assert picture.shape == (10, 10, 3)
    assert np.abs(picture[:, 3:7].astype(int) - (0, 0, 255)).max() < 5
    Image.new("LA", (8, 8), (0, 0)).save(tmp_path / "transparent.png")
    assert (read_picture(tmp_path / "transparent.png", 8) == 255).all()
