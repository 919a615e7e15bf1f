"""A tokenizer.json that our own classes do not follow gives the ids that the package behind it gives."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from odd_texts import PROSE, texts
from tests.refusals import refused

import tokenizers
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.specs.errors import GlasshouseError, MissingExtra
from glasshouse.tokenizers import load
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.external import ExternalTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = PROSE.splitlines()


def word_piece() -> tokenizers.Tokenizer:
    """As BERT's."""
    other = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    other.normalizer = normalizers.BertNormalizer(lowercase=True)
    other.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    other.decoder = decoders.WordPiece()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    other.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=150, special_tokens=marks))
    other.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    other.enable_truncation(8)
    other.enable_padding(length=8)
    return other


def byte_fallback() -> tokenizers.Tokenizer:
    """As Llama 2's."""
    other = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    other.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    other.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    marks = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    letters = sorted({letter for letter in PROSE if letter.isascii() and letter.isprintable()} | {"▁"})
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=marks, initial_alphabet=letters, limit_alphabet=len(letters)
    )
    other.train_from_iterator([" ".join(SENTENCES)], trainer)
    # Trained with the bytes as special tokens, so that they come first; they are ordinary ones.
    document = json.loads(other.to_str())
    document["added_tokens"] = document["added_tokens"][:3]
    other = tokenizers.Tokenizer.from_str(json.dumps(document))
    other.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return other


def framed_bytes() -> tokenizers.Tokenizer:
    """As RoBERTa's."""
    other = tokenizers.Tokenizer(models.BPE())
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    other.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=marks, initial_alphabet=alphabet)
    other.train_from_iterator(SENTENCES, trainer)
    other.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    return other


def unigram() -> tokenizers.Tokenizer:
    """As T5's."""
    other = tokenizers.Tokenizer(models.Unigram())
    other.normalizer = normalizers.NFKC()
    other.pre_tokenizer = pre_tokenizers.Metaspace()
    other.decoder = decoders.Metaspace()
    marks = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=marks, unk_token="<unk>")
    other.train_from_iterator(SENTENCES, trainer)
    other.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return other


def end_of_word() -> tokenizers.Tokenizer:
    """As CLIP's, whose file has a byte-level decoder and words that end with a mark."""
    other = tokenizers.Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"))
    other.normalizer = normalizers.Lowercase()
    other.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    other.decoder = decoders.ByteLevel()
    marks = ["<|startoftext|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=marks, initial_alphabet=alphabet, end_of_word_suffix="</w>")
    other.train_from_iterator(SENTENCES, trainer)
    other.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0))
    return other


KINDS = {make.__name__: make for make in (word_piece, byte_fallback, framed_bytes, unigram, end_of_word)}
FRAMES = {
    "word_piece": ([2], [3]),
    "byte_fallback": ([1], []),
    "framed_bytes": ([0], [2]),
    "unigram": ([], [1]),
    "end_of_word": ([0], [1]),
}
ENDS = {"word_piece": 3, "byte_fallback": 2, "framed_bytes": 2, "unigram": 1, "end_of_word": 1}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def pair(kind, tmp_path_factory):
    """A tokenizer of the package, without truncation and padding, and ours from its file."""
    other = KINDS[kind]()
    path = tmp_path_factory.mktemp("foreign") / "tokenizer.json"
    other.save(str(path))
    other.no_truncation()
    other.no_padding()
    ours = load(path)
    assert isinstance(ours, ExternalTokenizer)
    return other, ours


@settings(max_examples=100, deadline=None)
@given(text=texts)
def test_same_ids_as_the_package(pair, text):
    other, ours = pair
    ids = other.encode(text, add_special_tokens=False).ids
    found = ours.encode(text)
    assert found.dtype == np.int32
    assert found.tolist() == ids
    assert ours.encode_batch([text, "x"])[0].tolist() == ids
    before, after = ours.frame
    assert [*before, *ids, *after] == other.encode(text).ids


def test_the_frame_and_the_marks(pair, kind):
    other, ours = pair
    assert ours.frame == FRAMES[kind]
    assert ours.end_of_text == ENDS[kind]
    assert ours.vocabulary == other.get_vocab_size()
    assert not ours.lossless
    for mark, id in ours.specials.items():
        assert other.token_to_id(mark) == id
        assert ours.encode(mark).tolist()[-1] == id
        assert ours.token_bytes(id) == mark.encode()
    unknown = {"word_piece": 1, "byte_fallback": 0, "unigram": 2, "end_of_word": 1}
    assert ours.unknown == unknown.get(kind)


def test_marks_in_the_text_as_ordinary_text(pair, kind):
    _, ours = pair
    for mark, id in ours.specials.items():
        assert id in ours.encode(f"the {mark} then")
        # Unigram's model has its special tokens among its pieces, and finds them there.
        if kind != "unigram" and id != ours.unknown:
            assert id not in ours.encode(f"the {mark} then", specials=False)


def test_decoding(pair):
    other, ours = pair
    for text in SENTENCES:
        ids = ours.encode(text)
        assert ours.decode(ids).strip() == other.decode(ids.tolist()).replace("</w>", " ").strip()


@pytest.mark.parametrize("text", ["it was the age of wisdom the best of times", "these within those"])
def test_written_token_by_token(pair, text):
    """But for the space before the first word or after the last."""
    _, ours = pair
    ids = ours.encode(text)
    assert b"".join(ours.token_bytes(id) for id in ids).decode().strip() == text
    assert ours.decode(ids).strip() == text


@pytest.mark.parametrize("kind", ["byte_fallback", "framed_bytes"])
def test_any_text_comes_back_token_by_token(kind, tmp_path):
    KINDS[kind]().save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path / "tokenizer.json")
    for text in ["Café 你好\n\ttwo  spaces 😀", "\x00\x7f", "e\u0301"]:
        assert b"".join(ours.token_bytes(id) for id in ours.encode(text)) == f" {text}".encode()


def test_saved_it_is_the_same(pair, kind, tmp_path):
    _, ours = pair
    ours.save(tmp_path / "again.json")
    again = load(tmp_path / "again.json")
    assert again.digest() == ours.digest()
    assert again.encode(PROSE).tolist() == ours.encode(PROSE).tolist()
    assert KINDS[kind]().truncation == tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")).truncation


def test_a_prompt_begins_as_the_tokenizer_begins_texts(pair, kind):
    _, ours = pair
    before, _ = FRAMES[kind]
    assert encode_prompt(ours, "the age") == [*before, *ours.encode("the age")]
    assert encode_prompt(ours, "") == (before or [ENDS[kind]])


def test_a_prompt_with_its_own_start(tmp_path):
    byte_fallback().save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path / "tokenizer.json")
    assert encode_prompt(ours, "<s>") == [1]


def test_a_frame_around_a_vocabulary_without_letters(tmp_path):
    document = json.loads(framed_bytes().to_str())
    marks = document["added_tokens"]
    document["model"]["vocab"] = {mark["content"]: mark["id"] for mark in marks}
    document["model"]["merges"] = []
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    assert load(tmp_path / "tokenizer.json").frame == ([0], [2])


def test_our_own_tokenizers_have_no_frame():
    ours = BytePair.train([PROSE], 300)
    assert ours.frame == ([], [])
    assert encode_prompt(ours, "") == [ours.end_of_text]
    assert encode_prompt(ours, "the") == ours.encode("the").tolist()


def test_an_id_that_is_not_there(pair):
    _, ours = pair
    for id in (-1, ours.vocabulary):
        with refused("unknown-token-id"):
            ours.decode([id])


def test_half_a_character(pair):
    _, ours = pair
    with refused("lone-surrogate"):
        ours.encode("a\ud800")
    with refused("lone-surrogate"):
        ours.encode_batch(["a\ud800"])


def test_dropout_is_for_training_others(tmp_path):
    document = json.loads(framed_bytes().to_str())
    document["model"]["dropout"] = 0.9
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    ours = load(tmp_path / "tokenizer.json")
    assert len({tuple(ours.encode(PROSE)) for _ in range(4)}) == 1


def test_no_training():
    with refused("cannot-train-tokenizer"):
        ExternalTokenizer.train(["a"], 300)


def test_without_the_package(tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    word_piece().save(str(path))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra) as caught:
        load(path)
    message = str(caught.value)
    for part in (str(path), "model type 'WordPiece'", "supported are", "pip install tokenizers"):
        assert part in message


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda document: document["model"].pop("vocab"), "the package tokenizers cannot follow it"),
        (lambda document: document["model"].update(type="Unigram"), "the package tokenizers cannot follow it"),
        (lambda document: document["model"].update(type="Rainbow"), "model type 'Rainbow'"),
        (lambda document: document.update(normalizer={"type": "Nonsense"}), "the package tokenizers cannot follow it"),
        (lambda document: document.update(model=[]), "has no 'model'"),
    ],
)
def test_a_damaged_file(tmp_path, change, reason):
    document = json.loads(word_piece().to_str())
    change(document)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(GlasshouseError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


def test_a_file_cut_short(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(word_piece().to_str()[:-100])
    with refused("not-a-tokenizer"):
        load(path)


def test_an_unknown_word_that_no_token_stands_for(tmp_path):
    document = {
        "model": {"type": "WordLevel", "vocab": {"z": 0}, "unk_token": "b"},
        "pre_tokenizer": {"type": "Whitespace"},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    ours = load(tmp_path / "tokenizer.json")
    assert ours.encode("z z").tolist() == [0, 0]
    assert ours.frame == ([], [])
    for encode in (ours.encode, lambda text: ours.encode_batch([text])):
        with refused("cannot-encode"):
            encode("c")
