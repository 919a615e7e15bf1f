"""The page of attention maps: its content, and that too many weights are refused."""

import numpy as np

from glasshouse.pages import attention_page
from glasshouse.results.report import AttentionMap
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from . import example_report


def test_the_page_has_a_thumbnail_for_each_head_with_its_own_number():
    attention = example_report.attention()
    page = attention_page.render(attention, "my run", first_layer=3, first_head=2)
    assert page.count('class="head"') == attention.weights.shape[0] * attention.weights.shape[1]
    assert "Layer 3, head 2" in page
    assert "<title>Attention of my run" in page
    assert "<script src" not in page


def test_too_many_weights_for_a_page_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(attention_page, "MOST_WEIGHTS", 30)
    attention = AttentionMap(("a", "b", "c", "d"), np.full((1, 2, 4, 4), 0.25))
    with refused(GlasshouseError, "32"):
        attention_page.write(attention, tmp_path / "page.html", "run")
    attention_page.write(attention, tmp_path / "page.png", "run")
    assert (tmp_path / "page.png").exists()
