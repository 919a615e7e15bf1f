"""The machine splits text as the patterns do: against `tokenizers`, against `regex`, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from odd_texts import PROSE, texts, wikitext

from glasshouse.tokenizers.pretokenizer import PATTERNS, machine_classes, piece_end
from glasshouse.tokenizers.unicode_classes import CODE_POINTS
from tokenizers import Regex, pre_tokenizers

SPLITTERS = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    "gpt-4": pre_tokenizers.Split(Regex(PATTERNS["gpt-4"]), behavior="isolated"),
}


def split(text, pattern):
    data = text.encode()
    pieces, start = [], 0
    while start < len(data):
        end = piece_end(data, start, len(data), machine_classes(), pattern == "gpt-4")
        assert end > start
        pieces.append(data[start:end].decode())
        start = end
    return pieces


def expected_split(text, pattern):
    return [text[first:after] for _, (first, after) in SPLITTERS[pattern].pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=400, deadline=None)
@given(text=texts)
def test_splits_as_tokenizers_does(pattern, text):
    if text:
        assert split(text, pattern) == expected_split(text, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_both_ends_of_every_class_in_company(pattern):
    ends = np.flatnonzero(np.diff(machine_classes()))
    points = sorted({*ends.tolist(), *(ends + 1).tolist()} - {*range(0xD800, 0xE000)})
    text = "".join(f"a{chr(point)}'{chr(point)} {chr(point)}1{chr(point)}\n" for point in points)
    assert split(text, pattern) == expected_split(text, pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        ("gpt-2", "I'll  go\n\n now", ["I", "'ll", " ", " go", "\n\n", " now"]),
        ("gpt-2", "I'LL 12345!?  ", ["I", "'", "LL", " 12345", "!?", "  "]),
        ("gpt-4", "I'LL 12345!?\r\n  x", ["I", "'LL", " ", "123", "45", "!?\r\n", " ", " x"]),
        ("gpt-4", "(word\tword \n  ", ["(word", "\tword", " \n", "  "]),
    ],
)
def test_by_hand(pattern, text, pieces):
    assert split(text, pattern) == pieces


@pytest.mark.parametrize("pattern", PATTERNS)
def test_prose_and_wikipedia(pattern):
    text = PROSE + wikitext("valid")[:200_000]
    assert split(text, pattern) == expected_split(text, pattern)


def test_classes_are_one_byte_each():
    assert machine_classes().dtype == np.uint8
    assert len(machine_classes()) == CODE_POINTS
