"""Byte-pair encoding: decoding restores the text, the ids are those of `tokenizers` and `tiktoken`, in plain Python too."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import tiktoken
from hypothesis import given, strategies

import tokenizers
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers import Tokenizer, byte_pair, byte_pair_encoder, load
from glasshouse.tokenizers.base import VocabularyTooLarge
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.piece_patterns import PATTERNS
from tests.properties import examples
from tests.refusals import refused
from tests.tokenizers import reference_byte_pair
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts, wikitext
from tests.tokenizers.piece_splitting import split

SPECIALS = (END_OF_TEXT, "<|endoftext|><|twice|>", "<a b>")


@pytest.fixture(scope="module", params=list(PATTERNS))
def trained(request):
    """A tokenizer that encodes every text with compiled code."""
    tokenizer = BytePair.train([PROSE], 390, pattern=request.param, specials=SPECIALS)
    tokenizer.encode(PROSE)
    return tokenizer


@pytest.fixture(scope="module")
def theirs(trained, tmp_path_factory):
    """The same tokenizer, run by the `tokenizers` package."""
    path = tmp_path_factory.mktemp("byte_pair") / "tokenizer.json"
    trained.save(path)
    return tokenizers.Tokenizer.from_file(str(path))


@examples(300)
@given(text=texts)
def test_decoding_restores_the_text(trained, text):
    for specials in (True, False):
        ids = trained.encode(text, specials=specials)
        assert ids.dtype == np.int32
        assert trained.decode(ids) == text
        assert b"".join(trained.token_bytes(id) for id in ids.tolist()).decode() == text


@examples(300)
@given(text=texts)
def test_same_ids_as_tokenizers(trained, theirs, text):
    theirs.encode_special_tokens = False
    assert trained.encode(text).tolist() == theirs.encode(text).ids
    theirs.encode_special_tokens = True
    assert trained.encode(text, specials=False).tolist() == theirs.encode(text).ids


@examples(200)
@given(ids=strategies.lists(strategies.integers(0, 389), max_size=30))
def test_any_ids_decode_as_in_tokenizers(trained, theirs, ids):
    assert trained.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    assert b"".join(map(trained.token_bytes, ids)).decode("utf-8", "replace") == trained.decode(ids)


@examples(200)
@given(text=texts)
def test_same_ids_as_the_definition(trained, text):
    byte_id = {trained.token_bytes(id): id for id in range(len(SPECIALS), 256 + len(SPECIALS))}
    expected = []
    for piece in split(text, trained.pattern):
        expected += reference_byte_pair.encode([byte_id[bytes([byte])] for byte in piece.encode()], trained.merges)
    assert trained.encode(text, specials=False).tolist() == expected


@examples(100)
@given(several=strategies.lists(texts, max_size=8))
def test_a_batch_gives_the_ids_of_its_texts(trained, several):
    for specials in (True, False):
        batch = trained.encode_batch(several, specials=specials)
        assert [ids.tolist() for ids in batch] == [trained.encode(text, specials=specials).tolist() for text in several]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_same_ids_as_tiktoken(pattern):
    text = wikitext("valid")
    ours = BytePair.train([text], 3000, pattern=pattern)
    ranks = {ours.token_bytes(id): id for id in range(1, 3000)}
    encoding = tiktoken.Encoding("test", pat_str=PATTERNS[pattern], mergeable_ranks=ranks, special_tokens={END_OF_TEXT: 0})
    text = wikitext("test") + PROSE
    assert ours.encode(text).tolist() == encoding.encode_ordinary(text)
    assert ours.encode(f"{text}{END_OF_TEXT}x").tolist() == encoding.encode(f"{text}{END_OF_TEXT}x", allowed_special="all")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_training_depends_only_on_the_text(pattern):
    text = (PROSE + END_OF_TEXT) * 20
    first = BytePair.train([text], 380, pattern=pattern, processes=1)
    for chunks, threads in (([text], 2), ([text[:99], text[99:2000], text[2000:]], 3), (iter(text), 1)):
        again = BytePair.train(chunks, 380, pattern=pattern, processes=threads)
        assert again.merges == first.merges
        assert again.specials == first.specials
    assert not any(b"endoftext" in first.token_bytes(id) for id in range(1, 380))


def test_the_order_of_the_vocabulary():
    ours = BytePair.train(["ab ab ab"], 259)
    assert isinstance(ours, Tokenizer)
    assert (ours.vocabulary, ours.end_of_text, ours.unknown, ours.specials) == (259, 0, None, {END_OF_TEXT: 0})
    assert ours.token_bytes(0) == END_OF_TEXT.encode()
    assert ours.token_bytes(1) == b"!"
    assert [ours.token_bytes(id) for id in (257, 258)] == [b"ab", b" ab"]
    assert ours.encode("").tolist() == []
    assert ours.decode([]) == ""


def test_too_large_a_vocabulary():
    with refused(VocabularyTooLarge, "data.vocabulary=300", "259", "data.vocabulary=259"):
        BytePair.train(["ab ab ab"], 300)
    assert BytePair.train(["ab ab ab"], 259).vocabulary == 259
    assert BytePair.train([], 257).vocabulary == 257


def test_too_small_a_vocabulary():
    with refused(GlasshouseError, "vocabulary=257", "258"):
        BytePair.train([PROSE], 257, specials=[END_OF_TEXT, "<pad>"])
    assert BytePair.train([PROSE], 258, specials=["<pad>"]).specials == {END_OF_TEXT: 0, "<pad>": 1}


def test_bad_arguments(trained):
    with refused(GlasshouseError, "pattern='gpt-3'", "gpt-2", "gpt-4"):
        BytePair.train([PROSE], 300, pattern="gpt-3")
    with refused(GlasshouseError, "'#'"):
        BytePair.train([PROSE], 300, specials=["#"])
    with refused(GlasshouseError):
        BytePair.train([PROSE], 300, specials=[""])
    for wrong in (-1, 390, 10**12):
        with refused(GlasshouseError, f"{wrong}"):
            trained.decode([1, wrong])
        with refused(GlasshouseError, f"{wrong}"):
            trained.token_bytes(wrong)
    with refused(DataError, "U+D800"):
        trained.encode("a\ud800")
    with refused(DataError):
        BytePair.train(["a\udfff"], 300)


def test_progress_is_reported():
    reports = []
    BytePair.train([PROSE], 300, progress=lambda stage, fraction: reports.append((stage.split(":")[0], fraction)))
    assert reports[0] == ("counting", 0.0)
    assert reports[-1] == ("merging", 1.0)


def test_a_full_table_is_emptied(trained, monkeypatch):
    monkeypatch.setattr(byte_pair_encoder, "MIN_SLOTS", 8)
    monkeypatch.setattr(byte_pair_encoder, "MAX_SLOTS", 16)
    fresh = BytePair(trained._tokens, trained.merges, trained.specials, trained.pattern)
    text = PROSE + "".join(f" word{number} {'w' * number}" for number in range(300)) + "x" * 300_000 + PROSE
    assert fresh.encode(text).tolist() == trained.encode(text).tolist()
    lines = text.splitlines(keepends=True)
    assert (
        np.concatenate(fresh.encode_batch(lines)).tolist() == np.concatenate([fresh.encode(line) for line in lines]).tolist()
    )
    assert fresh.decode(fresh.encode(text)) == text


def test_threads_share_a_tokenizer(trained):
    parts = [PROSE[start:] + "z" * start for start in range(40)]
    expected = [trained.encode(part).tolist() for part in parts]
    results = {}
    workers = [
        threading.Thread(target=lambda name=name: results.update({name: [trained.encode(part).tolist() for part in parts]}))
        for name in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(results[name] == expected for name in range(4))


def test_saved_and_loaded(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    again = load(tmp_path / "tokenizer.json")
    assert type(again) is BytePair
    assert again.merges == trained.merges
    assert again._tokens == trained._tokens
    assert (again.pattern, again.specials, again.vocabulary) == (trained.pattern, trained.specials, trained.vocabulary)


@examples(300)
@given(text=texts)
def test_plain_python_gives_the_same_ids(trained, text):
    ids = trained._encode_plainly(text)
    assert ids.dtype == trained.encode(text, specials=False).dtype
    assert ids.tolist() == trained.encode(text, specials=False).tolist()


def test_bytes_without_an_id_are_dropped(trained):
    tokens = [None if token == b"t" else token for token in trained._tokens]
    without_t = BytePair(tokens, [], trained.specials, trained.pattern)
    assert without_t.decode(without_t.encode("to tether")) == "o eher"


def test_a_loaded_tokenizer_gives_the_same_ids_before_and_after_it_turns_to_compiled_code(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    loaded = load(tmp_path / "tokenizer.json")
    text = f"{PROSE[:300]}{END_OF_TEXT}{PROSE[300:600]}"
    for _ in range(2 * byte_pair.PLAIN_BYTES // len(text)):
        expected = trained.encode(text).tolist()
        assert loaded.encode(text).tolist() == expected
        assert [ids.tolist() for ids in loaded.encode_batch([text, text])] == [expected, expected]
    assert loaded._plain_bytes_left < len(text)


def test_short_texts_need_no_compiler(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    program = """if True:
        import sys
        from glasshouse import tokenizers
        tokenizer = tokenizers.load(sys.argv[1])
        tokenizer.decode(tokenizer.encode("a short text"))
        tokenizer.encode_batch(["two", "texts"])
        print("numba" in sys.modules)
        tokenizer.encode("long " * 1000)
        print("numba" in sys.modules)
    """
    words = [sys.executable, "-c", program, str(tmp_path / "tokenizer.json")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
