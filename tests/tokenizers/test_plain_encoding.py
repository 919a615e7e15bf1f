"""Plain Python and compiled code give the same ids, and only long texts need compiled code."""

import subprocess
import sys

import pytest
from hypothesis import given, settings

from glasshouse.tokenizers import byte_pair, load
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.piece_patterns import PATTERNS
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts


@pytest.fixture(scope="module", params=list(PATTERNS))
def compiled(request):
    """A tokenizer that encodes every text with compiled code, because the first was a long one."""
    tokenizer = BytePair.train([PROSE], 390, pattern=request.param)
    tokenizer.encode("long " * byte_pair.PLAIN_TEXT_BYTES)
    return tokenizer


@settings(max_examples=300)
@given(text=texts)
def test_the_same_ids_as_compiled_code(compiled, text):
    ids = compiled._encode_plainly(text)
    assert ids.dtype == compiled.encode(text, specials=False).dtype
    assert ids.tolist() == compiled.encode(text, specials=False).tolist()


def test_bytes_without_an_id_are_dropped(compiled):
    tokens = [None if token == b"t" else token for token in compiled._tokens]
    without_t = BytePair(tokens, [], compiled.specials, compiled.pattern)
    assert without_t.decode(without_t.encode("to tether")) == "o eher"


def test_a_loaded_tokenizer_gives_the_same_ids_before_and_after_it_turns_to_compiled_code(compiled, tmp_path):
    compiled.save(tmp_path / "tokenizer.json")
    loaded = load(tmp_path / "tokenizer.json")
    text = f"{PROSE[:300]}{END_OF_TEXT}{PROSE[300:600]}"
    for _ in range(2 * byte_pair.PLAIN_BYTES // len(text)):
        expected = compiled.encode(text).tolist()
        assert loaded.encode(text).tolist() == expected
        assert [ids.tolist() for ids in loaded.encode_batch([text, text])] == [expected, expected]
    assert loaded._plain_bytes_left < len(text)


def test_short_texts_need_no_compiler(compiled, tmp_path):
    compiled.save(tmp_path / "tokenizer.json")
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
