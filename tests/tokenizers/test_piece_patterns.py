"""Python's regular expressions split text as the patterns do, according to the compiled splitter."""

import pytest
from hypothesis import given, settings

from glasshouse.tokenizers.piece_patterns import PATTERNS, split
from tests.tokenizers import piece_splitting
from tests.tokenizers.difficult_texts import PROSE, texts


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=300)
@given(text=texts)
def test_the_same_pieces_as_compiled_code(pattern, text):
    assert split(text, pattern) == piece_splitting.split(text, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_ascii_character_is_split_alike_with_and_without_others(pattern):
    text = PROSE + "".join(f"a{chr(point)}' {chr(point)}1{chr(point)}{chr(point)}b\n" for point in range(128))
    assert split(text, pattern) == piece_splitting.split(text, pattern)
    assert split(text + "é", pattern) == piece_splitting.split(text + "é", pattern)
