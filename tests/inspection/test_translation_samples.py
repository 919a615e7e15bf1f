"""The translations in a report: which text the attention map shows."""

import pytest

from glasshouse.inspection import run_report, translation_samples

from .letter_translation import END, train_translator


@pytest.mark.slow
def test_the_map_shows_the_longest_text_that_fits_or_one_word_of_a_word_by_word_translator(letter_translator):
    samples = translation_samples.collect(letter_translator, 5)
    assert samples is not None
    assert samples.attention is not None
    assert len(samples.attention.tokens) <= 5
    assert samples.attention.sources is not None
    # The prompt is too long, so the map shows the longest pair that is short enough.
    short = max((each.source for each in samples.translations.pairs if len(each.source) < 5), key=len)
    assert samples.attention.sources == (*short, END)
    without_map = translation_samples.collect(letter_translator, 1)
    assert without_map is not None
    assert without_map.attention is None
    assert "too long" in without_map.notes[-1]
    report = run_report.collect(
        train_translator(name="words", evaluation={"word_by_word": True, "prompts": ["ab abcd abc"]})
    )
    assert report.attention is not None
    assert report.translations is not None
    words = [word for each in report.translations.pairs for word in each.source.split()]
    assert report.attention.sources == (*max(["abcd", *words], key=len), END)
    assert "test BLEU" not in dict(report.headline)
