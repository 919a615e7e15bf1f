"""Registration, replications, multiverse and all pairs of arms as text, and on the page of a study."""

import dataclasses
import re

from glasshouse.pages import study_checks
from glasshouse.pages.study_page import render
from glasshouse.results.study import ArmPair, MultiverseCell, ReplicationOutcome

from . import example_study as example
from .html_outline import Outline


def test_the_registration_has_date_and_digest():
    text = study_checks.registration(example.checked())
    assert "2025-11-15 09:46 UTC" in text
    assert "0123456789abcdef" * 4 in text
    assert study_checks.registration(example.study()) == ""


def test_a_replication_says_in_how_many_arms_the_verdict_was_the_same():
    first, unfinished = example.checked().replications
    assert "positions-replication replicates this study" in study_checks.replication_summary(example.checked(), first)
    assert "The verdict of 3 of 4 arms was the same." in study_checks.replication_summary(example.checked(), first)
    assert "no verdict in both studies yet. Not final" in study_checks.replication_summary(example.checked(), unfinished)
    rows = {row[0]: row[1:] for row in study_checks.replicated_arms(first)}
    assert rows["rotary"] == ("better", "undecided", "not the same")
    assert rows["alibi"][-1] == "same"
    assert {row[-1] for row in study_checks.replicated_arms(unfinished)} == {"–"}
    replication = dataclasses.replace(example.study(), name="positions-replication", replications=(first,))
    assert "This study is a replication of positions" in study_checks.replication_summary(replication, first)
    one = ReplicationOutcome("a", "b", {"rms": ("better", "worse")})
    assert "The verdict was not the same." in study_checks.replication_summary(example.study(), one)
    gone = ReplicationOutcome("a", "positions", {}, finished=False)
    assert "a is not in this folder" in study_checks.replication_summary(example.study(), gone)


def test_the_multiverse_names_the_choices_on_which_a_verdict_depends():
    table = study_checks.multiverse(example.checked())
    assert table is not None
    assert table.choices == ("learning rate", "initialisation", "split")
    assert table.arms == ("sinusoidal", "alibi", "rotary", "none")
    assert len(table.rows) == 8
    assert all(cell.holds for cell in table.rows[0][1])
    summary = dict(zip(table.arms, table.summary, strict=True))
    assert re.search("under all 8 combinations", summary["alibi"])
    assert "better under 4 of 8 combinations of choices (undecided in 4); depends on the split" in summary["rotary"]
    assert "(no verdict in 2); no single choice changes it, a combination does" in summary["none"]
    assert study_checks.multiverse(example.study()) is None


def test_one_cell_is_no_dependence():
    difference = example.study().arms[3].difference
    assert difference is not None
    cell = MultiverseCell({"split": "validation"}, {"rotary": difference}, main=True)
    table = study_checks.multiverse(dataclasses.replace(example.study(), multiverse=(cell,)))
    assert table is not None
    assert "rotary: better under all 1 combinations" in table.summary[2]


def test_the_page_shows_them():
    page = render(example.checked())
    outline = Outline(page)
    text = re.sub(r"\s+", " ", outline.text)
    for sentence in (
        study_checks.registration(example.checked()),
        *(study_checks.replication_summary(example.checked(), outcome) for outcome in example.checked().replications),
        *study_checks.multiverse(example.checked()).summary,
        "the same 1,234 windows of text",
        "two-way random effects",
    ):
        assert sentence in text
    links = [attributes["href"] for tag, attributes in outline.elements if tag == "a" and attributes["href"][0] != "#"]
    assert links == ["../positions-replication/report.html", "../second/report.html"]
    hostile = ReplicationOutcome('"><b>', "positions", {})
    page = render(dataclasses.replace(example.study(), replications=(hostile,)))
    assert "<b>" not in page.partition('class="replication"')[2].partition("</section>")[0]


def test_a_row_for_each_pair():
    table = study_checks.pair_table(example.with_pairs())
    assert table is not None
    assert len(table.rows) == 10
    arm, against, difference, _, _, word = table.rows[-1]
    assert (arm, against, word) == ("none", "rotary", "worse")
    assert difference.startswith("+0.3")
    assert "corrected for 10 comparisons" in table.note
    assert study_checks.pair_table(example.study()) is None


def test_a_pair_without_a_verdict_is_left_out_and_still_counted():
    some = dataclasses.replace(example.with_pairs(), pairs=example.with_pairs().pairs[:2])
    table = study_checks.pair_table(some)
    assert table is not None
    assert len(table.rows) == 2
    assert "corrected for 10 comparisons" in table.note


def test_two_arms_have_one_comparison_and_no_correction():
    whole = example.with_pairs()
    two = dataclasses.replace(whole, arms=whole.arms[:2], pairs=whole.pairs[:1])
    table = study_checks.pair_table(two)
    assert table is not None
    assert "one comparison" in table.note
    assert "corrected for" not in table.note


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
