"""The learned merges are those of the definition and those of the `tokenizers` package."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies

from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.byte_pair_training import learn_merges
from glasshouse.tokenizers.piece_patterns import PATTERNS
from glasshouse.tokenizers.tokenizer_json import BYTE_OF_LETTER, LETTERS
from tests.properties import examples
from tests.tokenizers import reference_byte_pair
from tests.tokenizers.difficult_texts import PROSE, wikitext
from tests.tokenizers.package_training import train_with_package

ALPHABET = np.array([BYTE_OF_LETTER[letter] for letter in LETTERS], np.uint8)


@examples(100)
@given(
    pieces=strategies.dictionaries(
        strategies.text("abc", min_size=1, max_size=12).map(str.encode),
        strategies.integers(1, 5),
        min_size=1,
        max_size=12,
    ),
    new_tokens=strategies.integers(1, 40),
)
def test_learns_the_merges_of_the_definition(pieces, new_tokens):
    ends = np.cumsum([len(piece) for piece in pieces])
    frequencies = np.array(list(pieces.values()), np.int64)
    learned = learn_merges(b"".join(pieces), ends, frequencies, ALPHABET, 256 + new_tokens)
    assert learned == reference_byte_pair.learn_merges(pieces, ALPHABET, 256 + new_tokens)


def test_counts_are_64_bit():
    frequencies = np.array([1 << 40, (1 << 40) + 1], np.int64)
    merges, _ = learn_merges(b"abcd", np.array([2, 4]), frequencies, ALPHABET, 257)
    assert [LETTERS[id] for id in merges[0][:2]] == ["c", "d"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_learns_the_merges_of_the_package(pattern, tmp_path):
    ours = BytePair.train([PROSE], 400, pattern=pattern)
    ours.save(tmp_path / "tokenizer.json")
    assert (
        json.loads((tmp_path / "tokenizer.json").read_text())["model"]
        == json.loads(train_with_package(PROSE, 400, pattern).to_str())["model"]
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_learns_the_merges_of_the_package_from_wikipedia(pattern, tmp_path):
    text = wikitext("valid")
    ours = BytePair.train([text], 4096, pattern=pattern)
    ours.save(tmp_path / "tokenizer.json")
    model = json.loads((tmp_path / "tokenizer.json").read_text())["model"]
    assert model == json.loads(train_with_package(text, 4096, pattern).to_str())["model"]
