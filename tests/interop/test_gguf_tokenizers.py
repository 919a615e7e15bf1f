"""Tokenizers in GGUF files: llama.cpp gives the same ids, the import restores them, and the others are refused."""

import json

import pytest

from glasshouse.certificates.round_trips import greedy_in_llama_cpp
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.interop import gguf_models, imported_model, llama2c
from glasshouse.interop.gguf_file import GGUF
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.external import ExternalTokenizer
from glasshouse.tokenizers.words import Characters, Words
from tests import needs
from tests.refusals import refused

from .gguf_models import GPT2, LLAMA, PROMPTS, random_run, read_gguf, write_gguf
from .llama2c_files import TEXTS, write_small_model
from .llama_cpp import tokens_in_llama_cpp

needs.package("gguf")
needs.package("xllamacpp")


@pytest.mark.parametrize("pattern", ["gpt-2", "gpt-4"])
def test_llama_cpp_splits_text_as_we_do(pattern, byte_pairs, tmp_path):
    # The tokenizer is trained on awkward text, so it has merges across the places where another pattern would split.
    awkward = [
        *TEXTS,
        *PROMPTS,
        "I'LL you'Re 'S\t\tx  \r\n\r\n y1234567 १२३ ½ Ⅻ \u3000\u2028z!?\n\n;— “e\u0301” a\x85b \x1c\x00",
    ]
    awkward += [f"{a}{b}{c}" for a in " x1.\n" for b in " '\t\r\né" for c in "a 9\n!'"]
    tokenizer = BytePair.train([" ".join(awkward) * 3], 420, pattern=pattern)
    run = random_run(tokenizer, LLAMA, "splitting")
    gguf_models.export(run, tmp_path / "splitting.gguf")
    texts = [*awkward, "a<|endoftext|>b", "<|endoftext|>"]
    theirs = tokens_in_llama_cpp(tmp_path / "splitting.gguf", texts)
    assert theirs == [tokenizer.encode(text).tolist() for text in texts]


def test_scored_pieces_of_a_small_vocabulary(tmp_path):
    """This test needs no data folder."""
    imported = llama2c.read(write_small_model(tmp_path / "small.bin", tied=False))
    run = Run(imported_model.save_as_run(imported, "small"), device="cpu")
    path = tmp_path / "small.gguf"
    gguf_models.export(run, path)
    texts = ["the then there", "hand in hand", "an\nand é 😀", "reherere therethe"]
    assert tokens_in_llama_cpp(path, texts) == [run.tokenizer.encode(text).tolist() for text in texts]
    assert gguf_models.read(path).tokenizer == json.loads(run.folder.tokenizer_file.read_text())
    ids = [encode_prompt(run.tokenizer, text) for text in texts]
    theirs = greedy_in_llama_cpp(path, texts, 3)
    assert theirs == greedy_in_llama_cpp(path, ids, 3)


def test_a_model_with_more_tokens_than_its_tokenizer(byte_pairs, tmp_path):
    run = random_run(byte_pairs["gpt-2"], GPT2, "padded", vocabulary=640)
    gguf_models.export(run, tmp_path / "padded.gguf")
    metadata = GGUF(tmp_path / "padded.gguf").metadata
    assert len(metadata["tokenizer.ggml.tokens"]) == len(set(metadata["tokenizer.ggml.tokens"])) == 640
    assert metadata["tokenizer.ggml.token_type"][-1] == 5
    assert tokens_in_llama_cpp(tmp_path / "padded.gguf", PROMPTS) == [
        run.tokenizer.encode(prompt).tolist() for prompt in PROMPTS
    ]
    imported = gguf_models.read(tmp_path / "padded.gguf")
    assert imported.vocabulary == 640
    assert imported.tokenizer == json.loads(run.folder.tokenizer_file.read_text())


@pytest.mark.parametrize("kind", [Words, Characters])
def test_tokenizers_that_llama_cpp_does_not_have(kind, tmp_path):
    run = random_run(kind.train(["the cat sat on the mat"], 20), LLAMA, "words")
    with refused(GlasshouseError, kind.name):
        gguf_models.export(run, tmp_path / "words.gguf")
    assert not list(tmp_path.glob("*.gguf"))
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_external_tokenizer_that_llama_cpp_does_not_have(byte_pairs, tmp_path):
    document = byte_pairs["gpt-2"]._to_json()
    document["pre_tokenizer"] = {**document["pre_tokenizer"], "add_prefix_space": True}
    run = random_run(ExternalTokenizer(document), LLAMA, "prefixed")
    with refused(GlasshouseError, "llama.cpp"):
        gguf_models.export(run, tmp_path / "prefixed.gguf")


def test_a_long_s(tmp_path):
    """The one character that llama.cpp splits differently is refused, but only in the pattern that it affects."""
    tokenizers = {pattern: BytePair.train(["ſhe ſhe 'ſ " * 20], 262, pattern=pattern) for pattern in ("gpt-2", "gpt-4")}
    gguf_models.export(random_run(tokenizers["gpt-2"], LLAMA, "two"), tmp_path / "two.gguf")
    with refused(GlasshouseError):
        gguf_models.export(random_run(tokenizers["gpt-4"], LLAMA, "four"), tmp_path / "four.gguf")


def test_no_end_of_text(byte_pairs, tmp_path):
    document = byte_pairs["gpt-2"]._to_json()
    document["added_tokens"] = []
    run = random_run(BytePair.from_json(document), LLAMA, "endless")
    with refused(GlasshouseError):
        gguf_models.export(run, tmp_path / "endless.gguf")


def test_byte_pairs_with_a_start_token_that_ignore_merges(byte_pairs, tmp_path):
    """A tokenizer like that of Llama 3, which our own class does not support, is exported and imported unchanged."""
    document = byte_pairs["gpt-4"]._to_json()
    begin = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [begin, first],
        "pair": [begin, first, begin, second],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}},
    }
    document["model"]["ignore_merges"] = True
    run = random_run(ExternalTokenizer(document), LLAMA, "third")
    path = tmp_path / "third.gguf"
    gguf_models.export(run, path)
    assert GGUF(path).metadata["tokenizer.ggml.pre"] == "llama-bpe"
    assert tokens_in_llama_cpp(path, PROMPTS) == [run.tokenizer.encode(text).tolist() for text in PROMPTS]
    completions = run.sample(PROMPTS, tokens=20, temperature=0)
    ours = [[choice.token for choice in completion.choices] for completion in completions]
    assert greedy_in_llama_cpp(path, PROMPTS, 20) == ours
    assert gguf_models.read(path).tokenizer == document


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"tokenizer.ggml.model": "bert"}, "'bert'"),
        ({"tokenizer.ggml.pre": "tekken"}, "'tekken'"),
        ({"tokenizer.ggml.model": None}, "no tokenizer"),
    ],
)
def test_a_model_is_imported_without_an_unsupported_tokenizer(change, value, llama_gguf, tmp_path, capfd):
    metadata, tensors = read_gguf(llama_gguf)
    metadata = {name: entry for name, entry in {**metadata, **change}.items() if entry is not None}
    imported = gguf_models.read(write_gguf(tmp_path / "other.gguf", metadata, tensors))
    assert imported.tokenizer is None
    message = capfd.readouterr().err
    assert "without a tokenizer" in message
    assert value in message
