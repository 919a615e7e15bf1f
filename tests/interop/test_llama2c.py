"""A llama2.c model is imported completely, continues a text as published, and its tokenizer gives llama2.c's ids."""

import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from glasshouse.generation.text_stream import encode_prompt
from glasshouse.interop import imported_model, llama2c
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport, GlasshouseError
from tests.refusals import refused

from .llama2c_files import (
    STORY,
    TEXTS,
    encode_by_scores,
    read_raw_pieces,
    some_pieces,
    stories_file,
    write_pieces,
    write_small_model,
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A model file with random weights, and its tokenizer."""
    return write_small_model(tmp_path / "small.bin", tied=True)


def test_the_known_story():
    run = Run(imported_model.save_as_run(llama2c.read(stories_file()), "stories"), device="cpu")
    assert run.facts["status"] == "imported"
    assert run.tokenizer.vocabulary == run.vocabulary == 512
    assert encode_prompt(run.tokenizer, "") == [1]
    completion = run.sample("", tokens=65, temperature=0)[0]
    assert run.tokenizer.decode(choice.token for choice in completion.choices).startswith(STORY)
    # In streamed text the first word keeps the space of its token.
    assert completion.text.startswith(" " + STORY)
    again = run.sample("Once upon a time, there was a little girl", tokens=40, temperature=0, cached=False)[0]
    assert str(again).startswith(STORY[:100])


@pytest.mark.parametrize("text", TEXTS)
def test_the_ids_of_llama2c(text, tmp_path):
    run = Run(imported_model.save_as_run(llama2c.read(stories_file()), "stories"), device="cpu")
    pieces = read_raw_pieces(stories_file().with_name("tok512.bin"))
    assert run.tokenizer.encode(text, specials=False).tolist() == encode_by_scores(pieces, text)
    assert run.tokenizer.decode(run.tokenizer.encode(text, specials=False)) == text


@pytest.mark.parametrize("text", ["the then there", "hand in hand", "reherere therethe", "an\nand é", *TEXTS])
def test_the_ids_of_a_small_vocabulary(small, text):
    run = Run(imported_model.save_as_run(llama2c.read(small), "small"), device="cpu")
    assert run.tokenizer.encode(text, specials=False).tolist() == encode_by_scores(some_pieces(300), text)


def test_an_untied_output_matrix(tmp_path):
    imported = llama2c.read(write_small_model(tmp_path / "untied.bin", tied=False))
    assert not imported.model.tied
    assert imported.model.attention == "grouped-query"
    assert imported.tensors["head.weight"].shape == (300, 8)
    numbers = np.frombuffer((tmp_path / "untied.bin").read_bytes(), "<f4", offset=28)
    assert torch.equal(imported.tensors["head.weight"], torch.from_numpy(numbers[-2400:].reshape(300, 8).copy()))
    Run(imported_model.save_as_run(imported, "untied"), device="cpu").sample("the", tokens=3, temperature=0)


def test_the_tokenizer_may_have_another_name(small, tmp_path):
    default = tmp_path / "tok300.bin"
    expected = llama2c.read(small).tokenizer
    assert llama2c.read(small, default.rename(tmp_path / "mine.bin")).tokenizer == expected
    (tmp_path / "mine.bin").rename(tmp_path / "tokenizer.bin")
    assert llama2c.read(small).tokenizer == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content[:20], (CannotImport, "20")),
        (lambda content: content[:-4], (CannotImport, "dim=8", "hidden_dim=12")),
        (lambda content: content + b"\0\0\0\0", (CannotImport,)),
        (lambda content: struct.pack("<i", -8) + content[4:], (CannotImport, "dim=-8")),
        (lambda content: struct.pack("<i", 9) + content[4:], (CannotImport,)),
        (lambda content: b"GGUF" + content[4:], (CannotImport, "dim=")),
        (lambda content: struct.pack("<Ii", 0x616B3432, 1) + content[8:], (CannotImport,)),
    ],
)
def test_a_damaged_model(small, change, reason):
    small.write_bytes(change(small.read_bytes()))
    with refused(*reason) as caught:
        llama2c.read(small)
    assert str(small) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content[:-3], (GlasshouseError, "299")),
        (lambda content: content[:5], (GlasshouseError,)),
        (lambda content: content + b"\0", (GlasshouseError,)),
        (lambda content: content[:8] + struct.pack("<i", -5) + content[12:], (GlasshouseError, "-5")),
        (lambda content: content.replace(b"<0x0A>", b"<0x0b>"), (CannotImport, "256")),
        (lambda content: content[:-1] + b"\xff", (GlasshouseError, "299")),
    ],
)
def test_a_damaged_tokenizer(small, change, reason):
    path = small.with_name("tok300.bin")
    path.write_bytes(change(path.read_bytes()))
    with refused(*reason) as caught:
        llama2c.read(small)
    assert str(path) in str(caught.value)


def test_no_tokenizer(small):
    small.with_name("tok300.bin").unlink()
    with refused(GlasshouseError, "tok300.bin", "tokenizer.bin"):
        llama2c.read(small)


def test_a_piece_twice(small):
    pieces = some_pieces(300)
    write_pieces(small.with_name("tok300.bin"), [*pieces[:-1], (b"he", -99.0)])
    with refused(CannotImport, "'he'"):
        llama2c.read(small)


def test_no_file(tmp_path):
    with refused(GlasshouseError):
        llama2c.read(tmp_path / "nowhere.bin")
