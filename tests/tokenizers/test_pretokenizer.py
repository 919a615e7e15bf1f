"""The pre-tokenizer splits text as the patterns do, according to `tokenizers` and to examples."""

import numpy as np
import pytest
from hypothesis import given

from glasshouse.tokenizers.piece_patterns import CODE_POINTS, PATTERNS
from glasshouse.tokenizers.pretokenizer import character_classes
from tests.properties import examples
from tests.tokenizers.difficult_texts import PROSE, texts, wikitext
from tests.tokenizers.piece_splitting import split
from tokenizers import Regex, pre_tokenizers

PRE_TOKENIZERS = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    "gpt-4": pre_tokenizers.Split(Regex(PATTERNS["gpt-4"]), behavior="isolated"),
}


def expected_split(text, pattern):
    return [text[first:after] for _, (first, after) in PRE_TOKENIZERS[pattern].pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", PATTERNS)
@examples(400)
@given(text=texts)
def test_splits_as_tokenizers_does(pattern, text):
    if text:
        assert split(text, pattern) == expected_split(text, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_first_and_last_code_point_of_every_class_in_several_contexts(pattern):
    ends = np.flatnonzero(np.diff(character_classes()))
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
def test_examples(pattern, text, pieces):
    assert split(text, pattern) == pieces


@pytest.mark.parametrize("pattern", PATTERNS)
def test_prose_and_wikipedia(pattern):
    text = PROSE + wikitext("valid")[:200_000]
    assert split(text, pattern) == expected_split(text, pattern)


def test_every_code_point_has_a_class_of_one_byte():
    assert character_classes().dtype == np.uint8
    assert len(character_classes()) == CODE_POINTS
