"""The figure of a study as an image file."""

from pathlib import Path

import pytest

from glasshouse.pages.study_figure import draw
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from . import example_study as example
from .unusual_studies import UNUSUAL_STUDIES


@pytest.mark.parametrize("name", ["one seed", "first arm diverged", "one arm", "not started", "enormous", "hostile names"])
def test_missing_or_unusual_results_give_a_figure(name: str, tmp_path: Path) -> None:
    draw(UNUSUAL_STUDIES[name](), tmp_path / "study.svg")
    assert (tmp_path / "study.svg").stat().st_size > 1000


def test_the_suffix_chooses_the_format_and_the_file_is_reproducible(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg", "one.png"):
        draw(example.study(seeds=4), tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for phrase in ("rotary", "← better", "validation.loss, difference from learned"):
        assert phrase in text
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    with refused(GlasshouseError):
        draw(example.study(), tmp_path / "study.pdf")
