"""Explanations of words: one place, short, and found by the titles that pages have."""

import pytest

from glasshouse.pages import glossary
from glasshouse.specs import catalogue


@pytest.mark.parametrize("word", glossary.EXPLANATIONS)
def test_an_explanation_is_short_and_whole(word: str) -> None:
    text = glossary.EXPLANATIONS[word].text
    assert 40 < len(text) < 330
    assert text.endswith(".")


def test_the_title_of_a_figure_finds_its_metric() -> None:
    found = glossary.find("validation perplexity")
    assert found is not None
    assert found.word == "perplexity"
    assert glossary.find("test bits per byte") is glossary.EXPLANATIONS["bits per byte"]
    assert glossary.find("training time") is None
    assert glossary.find("") is None


@pytest.mark.parametrize("task", ["next-token", "masked-token", "classify", "translate", "regress", "tag", "multi-label"])
def test_the_headline_metrics_of_a_task_are_explained(task: str) -> None:
    metrics = catalogue.find("task", task, "task").metrics
    titles = [metrics[name].title for name in metrics.headline]
    assert [title for title in titles if glossary.find(f"test {title}") is None] == []
