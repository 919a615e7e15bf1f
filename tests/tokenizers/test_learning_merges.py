"""The merges learned are those of the definition and those of the `tokenizers` trainer."""

import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from odd_texts import MARK, PROSE, wikitext
from plain_byte_pairs import learn as learn_plainly

from glasshouse.tokenizers.byte_alphabet import BYTE_OF_LETTER, LETTERS
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.byte_pair_training import learn
from glasshouse.tokenizers.pretokenizer import PATTERNS
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

ALPHABET = np.array([BYTE_OF_LETTER[letter] for letter in LETTERS], np.uint8)


def trained_elsewhere(text, vocabulary, pattern):
    other = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern == "gpt-2")
    split = pre_tokenizers.Split(Regex(PATTERNS["gpt-4"]), behavior="isolated")
    other.pre_tokenizer = level if pattern == "gpt-2" else pre_tokenizers.Sequence([split, level])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[MARK],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    other.train_from_iterator([text], trainer)
    return other


@settings(max_examples=100, deadline=None)
@given(
    pieces=strategies.dictionaries(
        strategies.text("abc", min_size=1, max_size=12).map(str.encode),
        strategies.integers(1, 5),
        min_size=1,
        max_size=12,
    ),
    more=strategies.integers(1, 40),
)
def test_learns_as_the_definition_does(pieces, more):
    ends = np.cumsum([len(piece) for piece in pieces])
    times = np.array(list(pieces.values()), np.int64)
    found = learn(b"".join(pieces), ends, times, ALPHABET, 256 + more)
    assert found == learn_plainly(pieces, ALPHABET, 256 + more)


def test_counts_are_64_bit():
    times = np.array([1 << 40, (1 << 40) + 1], np.int64)
    merges, _ = learn(b"abcd", np.array([2, 4]), times, ALPHABET, 257)
    assert [LETTERS[id] for id in merges[0][:2]] == ["c", "d"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_learns_as_tokenizers_does(pattern, tmp_path):
    ours = BytePair.train([PROSE], 400, pattern=pattern)
    ours.save(tmp_path / "tokenizer.json")
    assert (
        json.loads((tmp_path / "tokenizer.json").read_text())["model"]
        == json.loads(trained_elsewhere(PROSE, 400, pattern).to_str())["model"]
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_learns_as_tokenizers_does_from_wikipedia(pattern, tmp_path):
    text = wikitext("valid")
    ours = BytePair.train([text], 4096, pattern=pattern)
    ours.save(tmp_path / "tokenizer.json")
    model = json.loads((tmp_path / "tokenizer.json").read_text())["model"]
    assert model == json.loads(trained_elsewhere(text, 4096, pattern).to_str())["model"]
