"""Figures as files: the suffix chooses the format, and the same data makes the same file."""

from pathlib import Path

from glasshouse.pages import figures, line_figure
from glasshouse.pages.report_content import AttentionMap, Curve
from tests.refusals import refused

from . import example


def test_curves_as_svg_keep_their_text(tmp_path: Path) -> None:
    figures.curves(example.report().loss, tmp_path / "loss.svg", log=True)
    figures.curves(example.report().loss, tmp_path / "again.svg", log=True)
    written = (tmp_path / "loss.svg").read_text()
    assert "validation loss" in written
    assert written == (tmp_path / "again.svg").read_text()


def test_attention_as_png(tmp_path: Path) -> None:
    attention = example.attention(2, 2, 12)
    figures.attention(attention, tmp_path / "all.png")
    figures.attention(AttentionMap(("$x$",) * 12, attention.weights[:1, :1]), tmp_path / "one.png")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.png").exists()


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    with refused("wrong-suffix"):
        figures.curves((), tmp_path / "loss.pdf")
    with refused("log-of-nonpositive"):
        figures.curves((Curve("change", [1, 2], [-1, 1]),), tmp_path / "change.svg", log=True)


def test_a_line_goes_from_setting_to_setting_in_their_order(tmp_path: Path) -> None:
    spans = {1.0: (3.0, 2.0, 4.0), 2.0: (1.0, 0.5, 1.5), 4.0: (2.0, 1.0, 3.0)}
    line_figure.draw({"": spans}, tmp_path / "one.svg", "size", "loss")
    line_figure.draw({"": {setting: spans[setting] for setting in (4.0, 1.0, 2.0)}}, tmp_path / "other.svg", "size", "loss")
    assert (tmp_path / "one.svg").read_text() == (tmp_path / "other.svg").read_text()


def test_a_logarithmic_scale_writes_its_numbers_out(tmp_path: Path) -> None:
    figures.curves((Curve("perplexity", [1, 2, 3], [15000.0, 300.0, 60.0]),), tmp_path / "perplexity.svg", log=True)
    written = (tmp_path / "perplexity.svg").read_text()
    assert "10,000" in written
    assert ">100<" in written
