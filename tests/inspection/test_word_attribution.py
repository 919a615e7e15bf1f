"""Contributions of words to a class, by leaving them out."""

import pytest

from glasshouse.inspection import run_report, word_attribution
from glasshouse.pages.report_page import render


def test_a_contribution_is_the_fall_of_the_probability_without_the_word(classifier, labelled_file):
    report = run_report.collect(classifier)
    assert report.explained
    for text in report.explained:
        words = [word.text for word in text.words]
        (whole,) = classifier.classify([" ".join(words)])
        assert whole[text.answer] == max(whole.values()) == pytest.approx(text.probability)
        (without_first,) = classifier.classify([" ".join(words[1:])])
        assert text.words[0].contribution == pytest.approx(whole[text.answer] - without_first[text.answer], abs=1e-5)
    assert "What the words contribute" in render(report)
    # The attention map is of the longest of these texts.
    assert report.attention is not None
    assert len(report.attention.tokens) == max(len(text.words) for text in report.explained)
    # The right predictions come first, the most confident of them before the others.
    right = [text.probability for text in report.explained if text.truth == text.answer]
    assert right == sorted(right, reverse=True)
    assert len(right) <= word_attribution.OF_EACH_KIND
    labelled_file.unlink()
    assert word_attribution.collect(classifier) is None
