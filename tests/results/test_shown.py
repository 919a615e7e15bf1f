"""A result shows its page in a notebook."""

import numpy as np

import glasshouse.api  # noqa: F401
from glasshouse.results.report import AttentionMap
from tests.pages import example_exploration, example_study


def test_a_result_shows_its_page_in_a_frame() -> None:
    attention = AttentionMap(("a", "<b>"), np.tril(np.ones((1, 1, 2, 2))))
    for result in (attention, example_exploration.exploration(), example_study.study(seeds=2)):
        html = result._repr_html_()
        assert html is not None
        assert html.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
        assert html.count("<") == 2, "the page is escaped"
