"""Figures as image files: the suffix chooses the format, and the same data gives the same file."""

from pathlib import Path

import numpy as np
from PIL import Image

from glasshouse.pages import figures
from glasshouse.results.report import AttentionMap, Curve
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from . import example_report as example


def test_curves_as_svg_keep_their_text(tmp_path: Path) -> None:
    figures.curves(example.report().loss, tmp_path / "loss.svg", log=True)
    figures.curves(example.report().loss, tmp_path / "again.svg", log=True)
    text = (tmp_path / "loss.svg").read_text()
    assert "validation loss" in text
    assert text == (tmp_path / "again.svg").read_text()


def test_attention_as_png(tmp_path: Path) -> None:
    attention = example.attention(2, 2, 12)
    figures.attention(attention, tmp_path / "all.png")
    figures.attention(AttentionMap(("$x$",) * 12, attention.weights[:1, :1]), tmp_path / "one.png")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.png").exists()


def test_a_wrong_suffix_and_a_log_scale_of_negative_values_are_refused(tmp_path: Path) -> None:
    with refused(GlasshouseError):
        figures.curves((), tmp_path / "loss.pdf")
    with refused(GlasshouseError):
        figures.curves((Curve("change", [1, 2], [-1, 1]),), tmp_path / "change.svg", log=True)


def test_a_logarithmic_scale_has_plain_numbers(tmp_path: Path) -> None:
    figures.curves((Curve("perplexity", [1, 2, 3], [15000.0, 300.0, 60.0]),), tmp_path / "perplexity.svg", log=True)
    text = (tmp_path / "perplexity.svg").read_text()
    assert "10,000" in text
    assert ">100<" in text


def test_a_map_of_many_tokens_has_no_labels_and_a_bounded_size(tmp_path):
    many = tuple(f"word{index}" for index in range(600))
    weights = np.full((1, 2, 600, 600), 1 / 600)
    figures.attention(AttentionMap(many, weights), tmp_path / "grid.png")
    figures.attention(AttentionMap(many, weights[:, :1]), tmp_path / "one.png")
    assert max(Image.open(tmp_path / "grid.png").size) < 1500
    assert max(Image.open(tmp_path / "one.png").size) < 1500
    figures.attention(AttentionMap(many, weights), tmp_path / "grid.svg")
    assert "word5" not in (tmp_path / "grid.svg").read_text()
