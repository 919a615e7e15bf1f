"""External tokenizers: a tokenizer.json that our own classes do not support gives the ids of the `tokenizers` package."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given

import tokenizers
from glasshouse.data.document_columns import WordEncoder
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers import load
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.external import ExternalTokenizer
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer
from tests.properties import examples
from tests.refusals import refused
from tests.tokenizers.difficult_texts import PROSE, texts
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = PROSE.splitlines()


def word_piece() -> tokenizers.Tokenizer:
    """A tokenizer like BERT's."""
    theirs = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    theirs.normalizer = normalizers.BertNormalizer(lowercase=True)
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    theirs.decoder = decoders.WordPiece()
    special_tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    theirs.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=150, special_tokens=special_tokens))
    theirs.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    theirs.enable_truncation(8)
    theirs.enable_padding(length=8)
    return theirs


def byte_fallback() -> tokenizers.Tokenizer:
    """A tokenizer like Llama 2's."""
    theirs = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    theirs.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    theirs.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    special_tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    letters = sorted({letter for letter in PROSE if letter.isascii() and letter.isprintable()} | {"▁"})
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special_tokens, initial_alphabet=letters, limit_alphabet=len(letters)
    )
    theirs.train_from_iterator([" ".join(SENTENCES)], trainer)
    # For training, the bytes are special tokens so that they come first. In the file they are ordinary tokens.
    contents = json.loads(theirs.to_str())
    contents["added_tokens"] = contents["added_tokens"][:3]
    theirs = tokenizers.Tokenizer.from_str(json.dumps(contents))
    theirs.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return theirs


def bytes_with_start_and_end() -> tokenizers.Tokenizer:
    """A tokenizer like RoBERTa's."""
    theirs = tokenizers.Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    theirs.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special_tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special_tokens, initial_alphabet=alphabet)
    theirs.train_from_iterator(SENTENCES, trainer)
    theirs.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    return theirs


def unigram() -> tokenizers.Tokenizer:
    """A tokenizer like T5's."""
    theirs = tokenizers.Tokenizer(models.Unigram())
    theirs.normalizer = normalizers.NFKC()
    theirs.pre_tokenizer = pre_tokenizers.Metaspace()
    theirs.decoder = decoders.Metaspace()
    special_tokens = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=special_tokens, unk_token="<unk>")
    theirs.train_from_iterator(SENTENCES, trainer)
    theirs.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return theirs


def end_of_word() -> tokenizers.Tokenizer:
    """A tokenizer like CLIP's, whose file has a byte-level decoder and an end-of-word suffix."""
    theirs = tokenizers.Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"))
    theirs.normalizer = normalizers.Lowercase()
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    theirs.decoder = decoders.ByteLevel()
    special_tokens = ["<|startoftext|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=special_tokens, initial_alphabet=alphabet, end_of_word_suffix="</w>"
    )
    theirs.train_from_iterator(SENTENCES, trainer)
    theirs.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0))
    return theirs


KINDS = {make.__name__: make for make in (word_piece, byte_fallback, bytes_with_start_and_end, unigram, end_of_word)}
PREFIXES_AND_SUFFIXES = {
    "word_piece": ([2], [3]),
    "byte_fallback": ([1], []),
    "bytes_with_start_and_end": ([0], [2]),
    "unigram": ([], [1]),
    "end_of_word": ([0], [1]),
}
END_TOKENS = {"word_piece": 3, "byte_fallback": 2, "bytes_with_start_and_end": 2, "unigram": 1, "end_of_word": 1}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def pair(kind, tmp_path_factory):
    """A tokenizer of the package without truncation and padding, and ours from its file."""
    theirs = KINDS[kind]()
    path = tmp_path_factory.mktemp("foreign") / "tokenizer.json"
    theirs.save(str(path))
    theirs.no_truncation()
    theirs.no_padding()
    ours = load(path)
    assert isinstance(ours, ExternalTokenizer)
    return theirs, ours


@examples(100)
@given(text=texts)
def test_same_ids_as_the_package(pair, text):
    theirs, ours = pair
    ids = theirs.encode(text, add_special_tokens=False).ids
    our_ids = ours.encode(text)
    assert our_ids.dtype == np.int32
    assert our_ids.tolist() == ids
    assert ours.encode_batch([text, "x"])[0].tolist() == ids
    before, after = ours.prefix_and_suffix
    assert [*before, *ids, *after] == theirs.encode(text).ids


def test_prefix_suffix_and_special_tokens(pair, kind):
    theirs, ours = pair
    assert ours.prefix_and_suffix == PREFIXES_AND_SUFFIXES[kind]
    assert ours.end_of_text == END_TOKENS[kind]
    assert ours.vocabulary == theirs.get_vocab_size()
    for special, id in ours.specials.items():
        assert theirs.token_to_id(special) == id
        assert ours.encode(special).tolist()[-1] == id
        assert ours.token_bytes(id) == special.encode()
    unknown = {"word_piece": 1, "byte_fallback": 0, "unigram": 2, "end_of_word": 1}
    assert ours.unknown == unknown.get(kind)


def test_special_tokens_as_ordinary_text(pair, kind):
    _, ours = pair
    for special, id in ours.specials.items():
        assert id in ours.encode(f"the {special} then")
        # Unigram's own vocabulary contains its special tokens, so the model still finds them.
        if kind != "unigram" and id != ours.unknown:
            assert id not in ours.encode(f"the {special} then", specials=False)


def test_decoding(pair):
    theirs, ours = pair
    for text in SENTENCES:
        ids = ours.encode(text)
        assert ours.decode(ids).strip() == theirs.decode(ids.tolist()).replace("</w>", " ").strip()


@pytest.mark.parametrize("text", ["it was the age of wisdom the best of times", "these within those"])
def test_text_written_token_by_token(pair, text):
    """The result is the text, except for a space before the first word or after the last."""
    _, ours = pair
    ids = ours.encode(text)
    assert b"".join(ours.token_bytes(id) for id in ids).decode().strip() == text
    assert ours.decode(ids).strip() == text


@pytest.mark.parametrize("kind", ["byte_fallback", "bytes_with_start_and_end"])
def test_token_bytes_restore_any_text(kind, tmp_path):
    KINDS[kind]().save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path / "tokenizer.json")
    for text in ["Café 你好\n\ttwo  spaces 😀", "\x00\x7f", "e\u0301"]:
        assert b"".join(ours.token_bytes(id) for id in ours.encode(text)) == f" {text}".encode()


def test_saving_changes_nothing(pair, kind, tmp_path):
    _, ours = pair
    ours.save(tmp_path / "again.json")
    again = load(tmp_path / "again.json")
    assert again.digest() == ours.digest()
    assert again.encode(PROSE).tolist() == ours.encode(PROSE).tolist()
    assert KINDS[kind]().truncation == tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")).truncation


def test_a_prompt_starts_with_the_prefix(pair, kind):
    _, ours = pair
    before, _ = PREFIXES_AND_SUFFIXES[kind]
    assert encode_prompt(ours, "the age") == [*before, *ours.encode("the age")]
    assert encode_prompt(ours, "") == (before or [END_TOKENS[kind]])


def test_a_prompt_that_contains_the_start_token(tmp_path):
    byte_fallback().save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path / "tokenizer.json")
    assert encode_prompt(ours, "<s>") == [1]


def test_prefix_and_suffix_of_a_vocabulary_without_letters(tmp_path):
    contents = json.loads(bytes_with_start_and_end().to_str())
    special_tokens = contents["added_tokens"]
    contents["model"]["vocab"] = {special["content"]: special["id"] for special in special_tokens}
    contents["model"]["merges"] = []
    (tmp_path / "tokenizer.json").write_text(json.dumps(contents))
    assert load(tmp_path / "tokenizer.json").prefix_and_suffix == ([0], [2])


def test_our_own_tokenizers_have_no_prefix_or_suffix():
    ours = BytePair.train([PROSE], 300)
    assert ours.prefix_and_suffix == ([], [])
    assert encode_prompt(ours, "") == [ours.end_of_text]
    assert encode_prompt(ours, "the") == ours.encode("the").tolist()


def test_an_unknown_id_is_refused(pair):
    _, ours = pair
    for id in (-1, ours.vocabulary):
        with refused(GlasshouseError):
            ours.decode([id])


def test_a_lone_surrogate_is_refused(pair):
    _, ours = pair
    with refused(DataError):
        ours.encode("a\ud800")
    with refused(DataError):
        ours.encode_batch(["a\ud800"])


def test_dropout_is_ignored(tmp_path):
    contents = json.loads(bytes_with_start_and_end().to_str())
    contents["model"]["dropout"] = 0.9
    (tmp_path / "tokenizer.json").write_text(json.dumps(contents))
    ours = load(tmp_path / "tokenizer.json")
    assert len({tuple(ours.encode(PROSE)) for _ in range(4)}) == 1


def test_training_is_refused():
    with refused(GlasshouseError):
        ExternalTokenizer.train(["a"], 300)


def test_without_the_package_the_error_states_how_to_install_it(tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    word_piece().save(str(path))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with refused(GlasshouseError, str(path), "model type 'WordPiece'", "byte-level BPE", "pip install tokenizers"):
        load(path)


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        (lambda contents: contents["model"].pop("vocab"), UnsupportedTokenizer, "model type 'WordPiece'"),
        (lambda contents: contents["model"].update(type="Unigram"), UnsupportedTokenizer, "model type 'Unigram'"),
        (lambda contents: contents["model"].update(type="Rainbow"), UnsupportedTokenizer, "model type 'Rainbow'"),
        (
            lambda contents: contents.update(normalizer={"type": "Nonsense"}),
            UnsupportedTokenizer,
            "model type 'WordPiece'",
        ),
        (lambda contents: contents.update(model=[]), GlasshouseError, "'model'"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, change, kind, reason):
    contents = json.loads(word_piece().to_str())
    change(contents)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(contents))
    with refused(kind, str(path), reason):
        load(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(word_piece().to_str()[:-100])
    with refused(GlasshouseError):
        load(path)


def test_a_text_without_a_token_is_refused(tmp_path):
    contents = {
        "model": {"type": "WordLevel", "vocab": {"z": 0}, "unk_token": "b"},
        "pre_tokenizer": {"type": "Whitespace"},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(contents))
    ours = load(tmp_path / "tokenizer.json")
    assert ours.encode("z z").tolist() == [0, 0]
    assert ours.prefix_and_suffix == ([], [])
    for encode in (ours.encode, lambda text: ours.encode_batch([text])):
        with refused(DataError):
            encode("c")


@pytest.mark.parametrize(("build", "separator"), [(word_piece, ["[SEP]"]), (bytes_with_start_and_end, ["</s>", "</s>"])])
def test_the_separator_of_a_pair_is_that_of_the_package(build, separator):
    theirs = build()
    theirs.no_truncation()
    theirs.no_padding()
    ours = ExternalTokenizer.from_json(json.loads(theirs.to_str()))
    assert ours.pair_separator == [ours.specials[name] for name in separator]
    before, after = ours.prefix_and_suffix
    first, second = (ours.encode(text, specials=False).tolist() for text in SENTENCES[:2])
    assert [*before, *first, *ours.pair_separator, *second, *after] == theirs.encode(*SENTENCES[:2]).ids


@pytest.mark.parametrize("build", [word_piece, bytes_with_start_and_end, unigram])
def test_words_are_encoded_as_the_whole_text_is(build):
    ours = ExternalTokenizer.from_json(json.loads(build().to_str()))
    text = " ".join(SENTENCES[0].split())
    ids, first_tokens = WordEncoder(ours).encode(text.split())
    assert ids.tolist() == ours.encode(text, specials=False).tolist()
    starts = [*first_tokens[1:], len(ids)]
    for word, begin, end in zip(text.split(), first_tokens, starts, strict=True):
        assert ours.decode(ids[begin:end]).replace(" ", "").lower() == word.lower()
