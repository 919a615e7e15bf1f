"""Dividing a text at a safe boundary changes no token, with either pattern and with words."""

import pytest
from hypothesis import given, strategies

from glasshouse.tokenizers.piece_patterns import PATTERNS
from glasshouse.tokenizers.safe_boundaries import last_safe_boundary, split_into_blocks
from glasshouse.tokenizers.words import word_pattern
from tests.properties import examples
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts
from tests.tokenizers.piece_splitting import split


@examples(400)
@given(text=texts)
def test_safe_for_every_pre_tokenizer(text):
    boundary = last_safe_boundary(text)
    if boundary:
        assert 0 < boundary < len(text)
        for pattern in PATTERNS:
            assert split(text[:boundary], pattern) + split(text[boundary:], pattern) == split(text, pattern)
        words = word_pattern().findall
        assert words(text[:boundary]) + words(text[boundary:]) == words(text)


@pytest.mark.parametrize(
    ("text", "boundary"),
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
        (f"a{END_OF_TEXT}", 0),
        ("   ", 0),
    ],
)
def test_examples(text, boundary):
    assert last_safe_boundary(text) == boundary


@examples(200)
@given(parts=strategies.lists(strategies.sampled_from([" ", "<a b>", "<a", " b>", "x", "<a b>c d>"]), max_size=20))
def test_never_within_a_special_token(parts):
    text, specials = "".join(parts), ["<a b>", "<a b>c d>"]
    boundary = last_safe_boundary(text, specials)
    for special in specials:
        assert text[:boundary].count(special) + text[boundary:].count(special) == text.count(special)
        for length in range(1, len(special)):  # Nor within a special token that the next chunk completes.
            if boundary and text.endswith(special[:length]):
                assert boundary <= len(text) - length


def test_blocks_depend_only_on_the_text():
    blocks = list(split_into_blocks([PROSE], size=50))
    assert "".join(blocks) == PROSE
    assert len(blocks) > 10
    assert list(split_into_blocks(list(PROSE), size=50)) == blocks
    assert list(split_into_blocks([PROSE[:77], "", PROSE[77:]], size=50)) == blocks
    assert list(split_into_blocks(["x" * 1000], size=50)) == ["x" * 1000]
