"""The Treebank tokenizer: the words of NLTK, the ids of `tokenizers`, the vocabulary of the speeches and its limits."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies

import tokenizers
from glasshouse.data import prepared_data
from glasshouse.data.sources.speeches import SEGMENT_FILES, TEST_TEXTS, TRAINING_TEXT
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import load
from glasshouse.tokenizers.piece_patterns import WHITESPACE, class_bits
from glasshouse.tokenizers.treebank_words import BLANKS, TreebankWords
from tests import needs
from tests.needs import needs_data
from tests.properties import examples
from tests.refusals import refused
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts

FILES = (*SEGMENT_FILES.values(), TRAINING_TEXT, *TEST_TEXTS.values())
QUOTED = "She said \"I can't\" ('never'), and we'll go... to the U.S. at 10:30, they've $3,000.5 -- wanna?\n'Tis \"his.\"\n"
# Pieces of ordinary English, on which the rules depend.
ENGLISH = strategies.lists(
    strategies.sampled_from(
        ["Mr.", "cannot", "the", "dogs'", "don't", "it's", "I'D", "we'll", "we're", "U.S.", "3,000", "10:30", "4.5", "'I"]
        + [" "] * 12
        + ['"', "''", "``", "'", ".", "...", ",", ":", ";", "?", "!", "--", "—", "(", ")", "[", "]", "$", "%", "“", "”", "’"]
    ),
    max_size=30,
).map("".join)


@pytest.fixture(scope="module")
def trained():
    return TreebankWords.train([PROSE + QUOTED * 3], 60)


@pytest.fixture(scope="module")
def theirs(trained, tmp_path_factory):
    """The same tokenizer, run by the `tokenizers` package."""
    path = tmp_path_factory.mktemp("treebank") / "tokenizer.json"
    trained.save(path)
    return tokenizers.Tokenizer.from_file(str(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't.", "I do n't ."),
        ("They'll say it's the dogs' day; we've won!", "They 'll say it 's the dogs ' day ; we 've won !"),
        ("WE'RE HERE, I'M SURE", "WE 'RE HERE , I 'M SURE"),
        ("He cannot, won't and shan't.", "He can not , wo n't and sha n't ."),
        ("We're gonna, wanna, gotta; gimme! Lemme.", "We 're gon na , wan na , got ta ; gim me ! Lem me ."),
        ("'Tis more'n I know.", "'T is more 'n I know ."),
        ("Mr. Smith left the U.S. at noon.", "Mr. Smith left the U.S. at noon ."),
        ("He left the U.S.", "He left the U.S ."),
        ("A line.\nAnother one.", "A line . Another one ."),
        ("Two sentences. On a line.", "Two sentences. On a line ."),
        ("It cost $3,000.50, or 5% at 10:30: cheap", "It cost $ 3,000.50 , or 5 % at 10:30 : cheap"),
        ('"Stop," he said ("now").', "`` Stop , '' he said ( `` now '' ) ."),
        ('She said "go."', "She said `` go . ''"),
        ("'I think' is the '90s", "' I think ' is the '90s"),
        ("“It’s here”", "“ It ’ s here ”"),
        ("Wait... now -- no—we", "Wait ... now -- no—we"),
        ("a@b #1 & *c*", "a @ b # 1 & * c *"),
        ("shouldn't've", "shouldn't 've"),
        ("n't 's ' . .. ''", "n't 's ' . .. ``"),
        ("", ""),
    ],
)
def test_words_of_a_text(text, words):
    assert TreebankWords.split(text) == words.split()


def test_blanks_are_whitespace():
    points = {point for point in np.flatnonzero(class_bits() & WHITESPACE).tolist() if chr(point) != "\n"}
    assert {ord(character) for character in map(chr, range(0x3100)) if re.match(f"[{BLANKS}]", character)} == points


@examples(300)
@given(text=strategies.one_of(texts, ENGLISH))
def test_same_ids_as_tokenizers(trained, theirs, text):
    theirs.encode_special_tokens = False
    ids = trained.encode(text)
    assert ids.dtype == np.int32
    assert ids.tolist() == theirs.encode(text).ids
    assert trained.decode(ids) == theirs.decode(ids.tolist(), skip_special_tokens=False)
    theirs.encode_special_tokens = True
    assert trained.encode(text, specials=False).tolist() == theirs.encode(text).ids


@examples(300)
@given(text=strategies.one_of(texts, ENGLISH))
def test_same_words_as_tokenizers(theirs, text):
    """Words outside the vocabulary too, which all have one id."""
    words = [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(theirs.normalizer.normalize_str(text))]
    assert TreebankWords.split(text) == words


@given(text=strategies.one_of(texts, ENGLISH), more=ENGLISH)
def test_lines_are_independent(text, more):
    assert TreebankWords.split(f"{text}\n{more}") == TreebankWords.split(text) + TreebankWords.split(more)


@given(text=ENGLISH)
def test_no_character_is_lost(text):
    """Only the two kinds of double quotes are written in another way."""
    words = ('"' if word in ("``", "''") else word for word in TreebankWords.split(text))
    assert "".join(words) == re.sub("``|''", '"', text).replace(" ", "")


def nltk_tokenizer():
    """NLTK's word tokenizer; skips where it is not installed, or where it has other rules for dashes."""
    nltk = needs.package("nltk")
    if tuple(int(number) for number in nltk.__version__.split(".")[:3]) > (3, 9, 2):
        needs.skip("packages")
    return nltk.tokenize.NLTKWordTokenizer()


@needs_data
def test_same_words_as_nltk_in_every_line_of_the_speeches():
    nltk, lines = nltk_tokenizer(), 0
    for file in FILES:
        for line in file.locate("speeches").read_text(encoding="utf-8").splitlines():
            segment = line.split("\t")[-1]
            assert TreebankWords.split(segment) == nltk.tokenize(segment)
            lines += 1
    assert lines > 5000


@needs_data
@pytest.mark.parametrize("source", ["speeches-text", "course-speeches"])
def test_the_vocabulary_of_the_speeches_has_the_reported_size(source):
    data = DataSpec(source=source, tokenizer="treebank-words", vocabulary=8192, validation=0.0)
    tokenizer = prepared_data.Preparation(data, prepared_data.find_source(data)).tokenizer()
    assert tokenizer.vocabulary == 5755
    assert tokenizer.unknown not in tokenizer.encode("It is costly and politically difficult to continue this conflict.")


def test_the_order_of_the_vocabulary():
    ours = TreebankWords.train(["b a c, c", " a b d"], 6, specials=["<pad>"])
    assert ours.specials == {"<unk>": 0, END_OF_TEXT: 1, "<pad>": 2}
    assert (ours.unknown, ours.end_of_text, ours.vocabulary) == (0, 1, 6)
    assert ours.encode("a b c d").tolist() == [3, 4, 5, 0]
    assert ours.decode([3, 0, 4]) == "a <unk> b"
    assert ours.token_bytes(3) == b" a"


def test_a_special_token_ends_a_sentence():
    ours = TreebankWords.train([f"One.{END_OF_TEXT}Two."], 10)
    assert ours.vocabulary == 5
    assert ours.decode(ours.encode(f"One.{END_OF_TEXT}Two.")) == f"One . {END_OF_TEXT} Two ."


def test_the_vocabulary_is_an_upper_bound():
    assert TreebankWords.train(["a b a"], 1000).vocabulary == 4
    with refused(GlasshouseError, "vocabulary=2"):
        TreebankWords.train(["a b"], 2)


def test_training_does_not_depend_on_the_chunks():
    assert TreebankWords.train(iter(QUOTED), 60)._ids == TreebankWords.train([QUOTED], 60)._ids


def test_bad_arguments(trained):
    with refused(GlasshouseError, "60"):
        trained.decode([60])
    with refused(DataError):
        trained.encode("\ud800")


def test_saved_and_loaded(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    again = load(tmp_path / "tokenizer.json")
    assert type(again) is TreebankWords
    assert (again._ids, again.specials, again.unknown) == (trained._ids, trained.specials, trained.unknown)
    assert again.digest() == trained.digest()
