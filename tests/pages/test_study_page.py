"""The HTML page of a study: complete, offline, escaped, and valid when results are missing or unusual."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest

from glasshouse.pages import study_curves, study_differences, study_tables, svg_chart
from glasshouse.pages.study_page import draw, render
from glasshouse.results.study import StudyResults
from glasshouse.specs.errors import GlasshouseError
from glasshouse.verdicts.verdict import VerdictRule
from tests.refusals import refused

from . import example_study as example
from .html_outline import Outline, assert_self_contained
from .unusual_studies import UNUSUAL_STUDIES, first_arm_diverged


def test_the_page_is_complete_and_makes_no_network_request() -> None:
    page = render(example.study())
    outline = Outline(page)
    assert_self_contained(page, outline)
    assert "default-src 'none'" in page


def test_the_page_describes_the_study_and_its_results() -> None:
    study = example.study()
    text = Outline(render(study)).text
    for arm in study.arms[1:]:
        assert arm.difference is not None
        assert arm.difference.sentence in text
    for verdict in ("✓ better", "✗ worse", "= no difference", "? undecided"):
        assert verdict in re.sub(r"\s+", " ", text)
    assert "model.position of the recipe speech-lm: learned, sinusoidal, alibi, rotary and none, 16 seeds each" in text
    assert "lower is better" in text
    assert "±0.035 (one standard deviation between the seeds of learned), alpha is 0.05" in text
    assert "seeds 3 and 11 diverged" in text
    assert "14 of 16" in text
    assert "Still running" not in text
    for line in (*study.notes, study.command, *study.machine.values(), study_tables.latex(study), "2025-11-15"):
        assert line in text


def test_a_verdict_begins_in_plain_words_and_its_statistics_are_in_a_disclosure() -> None:
    page = render(example.study())
    for arm in example.study().arms[1:]:
        assert arm.difference is not None
        plain, statistics = (
            page.index(text) for text in (escape(arm.plain.replace(" %", "\u00a0%")), arm.difference.sentence)
        )
        assert plain < page.index("<details><summary>Statistics", plain) < statistics
    assert "first look" not in page


def test_few_seeds_are_marked_beside_the_sentence() -> None:
    text = Outline(render(example.study(seeds=3))).text
    assert text.count("A first look: 3 seeds are few") == 4


def test_an_unfinished_or_sequential_study_says_so() -> None:
    text = Outline(render(example.many_arms())).text
    assert "Still running: 115 of 120 runs are done." in text
    assert "Not final: 115 of 120 runs are done." in study_tables.markdown(example.many_arms())
    sequential = dataclasses.replace(example.study(), rule=VerdictRule(margin=0.1, looks=(8, 16)), higher_is_better=True)
    text = Outline(render(sequential)).text
    assert "tested after 8 and 16 seeds" in text
    assert "(set by the user)" in text
    assert "← worse" in text


@pytest.mark.parametrize("make", UNUSUAL_STUDIES.values(), ids=UNUSUAL_STUDIES.keys())
def test_missing_or_unusual_results_give_a_valid_page(make: Callable[[], StudyResults]) -> None:
    study = make()
    page = render(study)
    outline = Outline(page)
    assert not re.search(r"\bnan\b|\binf\b", outline.text)
    for chart in (study_differences.differences(study), study_curves.panel(study).chart):
        drawing = svg_chart.draw(chart)
        # XML 1.0 has no NUL; the page replaces it.
        ElementTree.fromstring(drawing.replace("\0", ""))
        assert not re.search(r'[ "ML]-?(nan|inf)', drawing)
    study_tables.markdown(study)
    study_tables.latex(study)


def test_an_arm_without_a_result_gives_the_reason() -> None:
    text = Outline(render(example.many_arms())).text
    assert "number 4 of twenty-one: every seed diverged" in text
    text = Outline(render(first_arm_diverged())).text
    assert "learned: every seed diverged" in text
    assert "rotary: no seed has finished in both this arm and learned" in text
    single = [dataclasses.replace(arm, difference=None) for arm in example.study(seeds=1).arms]
    text = Outline(render(dataclasses.replace(example.study(), arms=tuple(single)))).text
    assert "rotary: too few seeds have finished in both this arm and learned for a test" in text


def test_a_page_with_many_seeds_stays_small() -> None:
    assert len(render(example.study(seeds=128, points=200)).encode()) < 1_000_000


def test_text_is_escaped() -> None:
    page = render(example.hostile())
    outline = Outline(page)
    assert [tag for tag, _ in outline.elements].count("script") == 1
    assert "{{ 7 * 7 }}" in outline.text
    page.encode("utf-8")


@pytest.mark.parametrize("name", ["one seed", "first arm diverged", "one arm", "not started", "enormous", "hostile names"])
def test_missing_or_unusual_results_give_a_figure(name: str, tmp_path: Path) -> None:
    draw(UNUSUAL_STUDIES[name](), tmp_path / "study.svg")
    assert (tmp_path / "study.svg").stat().st_size > 1000


def test_the_suffix_chooses_the_format_of_the_figure_and_the_file_is_reproducible(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg", "one.png"):
        draw(example.study(seeds=4), tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for phrase in ("rotary", "← better", "validation.loss, difference from learned"):
        assert phrase in text
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    with refused(GlasshouseError):
        draw(example.study(), tmp_path / "study.pdf")
