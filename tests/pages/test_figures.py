"""Figures as image files: the suffix chooses the format, and the same data gives the same file."""

from pathlib import Path

import numpy as np
from PIL import Image

from glasshouse.pages import figures, line_charts
from glasshouse.pages.chart import Chart
from glasshouse.results.report import AttentionMap
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from . import example_report as example


def test_a_chart_as_svg_keeps_its_text(tmp_path: Path) -> None:
    chart = line_charts.curve_chart(example.report().quality)
    for name in ("quality.svg", "again.svg"):
        figures.draw({"Quality": chart}, tmp_path / name)
    text = (tmp_path / "quality.svg").read_text()
    assert "validation perplexity" in text
    assert ">100<" in text, "a logarithmic scale has plain numbers"
    assert text == (tmp_path / "again.svg").read_text()


def test_a_wrong_suffix_is_refused(tmp_path: Path) -> None:
    with refused(GlasshouseError):
        figures.draw({"": Chart("nothing")}, tmp_path / "loss.pdf")


def test_attention_as_png(tmp_path: Path) -> None:
    attention = example.attention(2, 2, 12)
    figures.attention(attention, tmp_path / "all.png")
    figures.attention(AttentionMap(("$x$",) * 12, attention.weights[:1, :1]), tmp_path / "one.png")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.png").exists()


def test_a_map_of_many_tokens_has_no_labels_and_a_bounded_size(tmp_path):
    many = tuple(f"word{index}" for index in range(600))
    weights = np.full((1, 2, 600, 600), 1 / 600)
    figures.attention(AttentionMap(many, weights), tmp_path / "grid.png")
    figures.attention(AttentionMap(many, weights[:, :1]), tmp_path / "one.png")
    assert max(Image.open(tmp_path / "grid.png").size) < 1500
    assert max(Image.open(tmp_path / "one.png").size) < 1500
    figures.attention(AttentionMap(many, weights), tmp_path / "grid.svg")
    assert "word5" not in (tmp_path / "grid.svg").read_text()
