"""Python's regular expressions split text as the patterns do, according to the compiled splitter."""

import re

import numpy as np
import pytest
from hypothesis import given

from glasshouse.tokenizers.piece_patterns import (
    CODE_POINTS,
    LETTER,
    NUMBER,
    PATTERNS,
    WHITESPACE,
    WORD,
    class_bits,
    members,
    split,
)
from tests.properties import examples
from tests.tokenizers import piece_splitting
from tests.tokenizers.difficult_texts import PROSE, texts
from tokenizers import Regex, pre_tokenizers


@pytest.mark.parametrize("pattern", PATTERNS)
@examples(300)
@given(text=texts)
def test_the_same_pieces_as_compiled_code(pattern, text):
    assert split(text, pattern) == piece_splitting.split(text, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_ascii_character_is_split_alike_with_and_without_others(pattern):
    text = PROSE + "".join(f"a{chr(point)}' {chr(point)}1{chr(point)}{chr(point)}b\n" for point in range(128))
    assert split(text, pattern) == piece_splitting.split(text, pattern)
    assert split(text + "é", pattern) == piece_splitting.split(text + "é", pattern)


BLOCK = 4096


def blocks():
    """All code points in blocks, as numbers and as text."""
    for first in range(0, CODE_POINTS, BLOCK):
        points = [point for point in range(first, first + BLOCK) if not 0xD800 <= point < 0xE000]
        if points:
            yield np.array(points), "".join(map(chr, points))


@pytest.mark.parametrize(("pattern", "bit"), [(r"\p{L}", LETTER), (r"\p{N}", NUMBER), (r"\s", WHITESPACE)])
def test_classes_of_the_patterns(pattern, bit):
    split = pre_tokenizers.Split(Regex(pattern), behavior="removed")
    for points, text in blocks():
        expected = np.ones(len(points), bool)
        for _, (first, after) in split.pre_tokenize_str(text):
            expected[first:after] = False
        np.testing.assert_array_equal(class_bits()[points] & bit != 0, expected)


def test_word_characters():
    split = pre_tokenizers.Whitespace()
    for points, text in blocks():
        bits = class_bits()[points]
        for bits_of_class, pieces in ((WORD, 1), (WHITESPACE, 0), (0, 1)):
            alike = "".join(np.array(list(text))[bits & (WORD | WHITESPACE) == bits_of_class])
            split_pieces = split.pre_tokenize_str(f"a {alike} !")
            assert len(split_pieces) == 2 + (pieces if alike else 0)
            if bits_of_class == WORD and alike:
                assert len(split.pre_tokenize_str(f"a{alike}a")) == 1
            if bits_of_class == 0 and alike:
                assert len(split.pre_tokenize_str(f"!{alike}!")) == 1


def test_surrogates_have_no_class():
    assert not class_bits()[0xD800:0xE000].any()


@pytest.mark.parametrize("bit", [LETTER, NUMBER, WHITESPACE, WORD])
def test_members_is_a_character_class(bit):
    matches = re.findall(f"[{members(bit)}]", "".join(map(chr, range(CODE_POINTS))))
    assert [ord(character) for character in matches] == np.flatnonzero(class_bits() & bit).tolist()
