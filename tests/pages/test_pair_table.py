"""The table of all pairs of arms, as text and on the page of a study."""

import dataclasses
import re

from glasshouse.pages.pair_table import pair_table
from glasshouse.pages.study_page import render
from glasshouse.results.study import ArmPair

from . import example_study as example
from .html_outline import Outline


def test_a_row_for_each_pair():
    table = pair_table(example.with_pairs())
    assert table is not None
    assert len(table.rows) == 10
    assert (table.rows[-1].arm, table.rows[-1].against) == ("none", "rotary")
    assert table.rows[-1].verdict == "worse"
    assert table.rows[-1].difference.startswith("+0.3")
    assert "corrected for 10 comparisons" in table.lead
    assert pair_table(example.study()) is None


def test_a_pair_without_a_verdict_is_left_out_and_still_counted():
    some = dataclasses.replace(example.with_pairs(), pairs=example.with_pairs().pairs[:2])
    table = pair_table(some)
    assert table is not None
    assert len(table.rows) == 2
    assert "corrected for 10 comparisons" in table.lead


def test_two_arms_have_one_comparison_and_no_correction():
    whole = example.with_pairs()
    two = dataclasses.replace(whole, arms=whole.arms[:2], pairs=whole.pairs[:1])
    table = pair_table(two)
    assert table is not None
    assert "one comparison" in table.lead
    assert "corrected for" not in table.lead


def test_the_page_has_the_table():
    text = re.sub(r"\s+", " ", Outline(render(example.with_pairs())).text)
    assert "All pairs" in text
    assert "corrected for 10 comparisons" in text
    assert "All pairs" not in Outline(render(example.study())).text
    hostile = example.hostile()
    difference = hostile.arms[1].difference
    assert difference is not None
    pair = ArmPair(hostile.arms[1].name, hostile.arms[0].name, difference)
    page = render(dataclasses.replace(hostile, pairs=(pair,)))
    assert "<script>alert" not in page
