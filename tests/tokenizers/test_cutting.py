"""Cutting a text at a safe place changes no token, with either pattern and with words."""

import pytest
from hypothesis import given, settings, strategies
from odd_texts import MARK, PROSE, texts
from test_splitting import PATTERNS, split

from glasshouse.tokenizers.safe_cuts import blocks, last_safe_cut
from glasshouse.tokenizers.words import word_pattern


@settings(max_examples=400, deadline=None)
@given(text=texts)
def test_safe_for_every_splitter(text):
    cut = last_safe_cut(text)
    if cut:
        assert 0 < cut < len(text)
        for pattern in PATTERNS:
            assert split(text[:cut], pattern) + split(text[cut:], pattern) == split(text, pattern)
        words = word_pattern().findall
        assert words(text[:cut]) + words(text[cut:]) == words(text)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("", 0),
        ("word", 0),
        ("two words", 3),
        ("a b ", 3),
        ("trailing ", 8),
        ("a\nb", 1),
        ("a!\nb", 0),
        ("a! b", 2),
        ("12 34", 2),
        ("你好。世界", 2),
        (f"a{MARK}", 0),
        ("   ", 0),
    ],
)
def test_by_hand(text, cut):
    assert last_safe_cut(text) == cut


@settings(max_examples=200, deadline=None)
@given(parts=strategies.lists(strategies.sampled_from([" ", "<a b>", "<a", " b>", "x", "<a b>c d>"]), max_size=20))
def test_never_within_a_special_token(parts):
    text, marks = "".join(parts), ["<a b>", "<a b>c d>"]
    cut = last_safe_cut(text, marks)
    for mark in marks:
        assert text[:cut].count(mark) + text[cut:].count(mark) == text.count(mark)
        for more in range(1, len(mark)):  # Nor within one that the next chunk completes.
            if cut and text.endswith(mark[:more]):
                assert cut <= len(text) - more


def test_blocks_depend_on_the_text_alone():
    whole = list(blocks([PROSE], size=50))
    assert "".join(whole) == PROSE
    assert len(whole) > 10
    assert list(blocks(list(PROSE), size=50)) == whole
    assert list(blocks([PROSE[:77], "", PROSE[77:]], size=50)) == whole
    assert list(blocks(["x" * 1000], size=50)) == ["x" * 1000]
