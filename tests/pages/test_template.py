"""The list of contents follows from the sections of a page; words are explained briefly, and found by their titles."""

import dataclasses

import pytest

from glasshouse.pages import report_page, study_page, template
from glasshouse.specs import catalogue

from . import example_report, example_study
from .html_outline import Outline


def test_sections_with_an_id_and_a_heading_are_listed() -> None:
    markup = "".join(
        f'<section id="s{i}"><div><h2>Part <b>{i}</b> &amp; more</h2></div><h2>second</h2></section>' for i in range(5)
    )
    markup += "<section><h2>no id</h2></section><section id='x'><p>no heading</p></section>"
    assert template.sections(markup) == [(f"s{i}", f"Part {i} & more") for i in range(5)]


def test_a_short_page_has_no_list() -> None:
    assert template.sections('<section id="a"><h2>A</h2></section>') == []


def test_every_entry_of_a_page_leads_to_a_section() -> None:
    for page in (report_page.render(example_report.report()), study_page.render(example_study.study())):
        elements = Outline(page).elements
        links = [
            attributes["href"] for tag, attributes in elements if tag == "a" and attributes.get("href", "").startswith("#")
        ]
        ids = {attributes["id"] for tag, attributes in elements if tag == "section" and "id" in attributes}
        assert len(links) >= 4
        assert {link[1:] for link in links} <= ids


def test_samples_name_their_settings() -> None:
    report = dataclasses.replace(example_report.report(), sampling="temperature 0.8, at most 60 tokens")
    assert "Sampled with temperature 0.8, at most 60 tokens." in Outline(report_page.render(report)).text


@pytest.mark.parametrize("word", template.glossary())
def test_an_explanation_is_short_and_whole(word: str) -> None:
    text = template.glossary()[word]
    assert 40 < len(text) < 330
    assert text.endswith(".")


def test_the_title_of_a_figure_finds_its_metric() -> None:
    found = template.explanation_of("validation perplexity")
    assert found is not None
    assert found[0] == "perplexity"
    assert template.explanation_of("test bits per byte") == ("bits per byte", template.glossary()["bits per byte"])
    assert template.explanation_of("training time") is None
    assert template.explanation_of("") is None


@pytest.mark.parametrize("task", ["next-token", "masked-token", "classify", "translate", "regress", "tag", "multi-label"])
def test_the_headline_metrics_of_a_task_are_explained(task: str) -> None:
    metrics = catalogue.find("task", task, "task").metrics
    titles = [metrics[name].title for name in metrics.headline]
    assert [title for title in titles if template.explanation_of(f"test {title}") is None] == []
