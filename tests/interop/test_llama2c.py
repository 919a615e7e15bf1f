"""A llama2.c model is read whole, continues as it is known to, and gives the ids of llama2.c's own merging."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from glasshouse.generation.text_stream import encode_prompt
from glasshouse.interop import imported_model, llama2c
from glasshouse.interop.sentencepiece import from_document, to_document
from glasshouse.runs.run import Run
from tests.refusals import refused

KNOWN = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big, "
    "red ball. She wanted to play with it, but it was too high"
)
SIZES = {"dim": 8, "hidden_dim": 12, "n_layers": 2, "n_heads": 2, "n_kv_heads": 1, "vocab_size": 300, "seq_len": 16}
TEXTS = [
    "Once upon a time",
    " two  spaces   three",
    'The cat sat on the mat, and Lily said: "I\'m happy!"',
    "line\nbreaks\n\nand\ttabs ",
    "café naïve “quoted” — 12345 … 你好 😀",
    "hehehehehe ssssss tttttt anandand",
    "<0x0A> <s> [brackets] ~|",
    "",
]


def stories() -> Path:
    folder = os.environ.get("GLASSHOUSE_DATA")
    path = Path(folder or "", "weights", "stories260K.bin")
    if not folder or not path.exists():
        pytest.skip("GLASSHOUSE_DATA does not name a folder with weights/stories260K.bin in it")
    return path


def merged(pieces: list[tuple[bytes, float]], text: str) -> list[int]:
    """llama2.c's encoding, plainly: code points or their bytes, then always the best pair, the leftmost of equal ones."""
    ids_of = {piece: id for id, (piece, _) in enumerate(pieces)}
    ids = [ids_of[b" "]] if text else []
    for letter in text:
        raw = letter.encode()
        ids += [ids_of[raw]] if raw in ids_of else [byte + 3 for byte in raw]
    while True:
        best = None
        for place in range(len(ids) - 1):
            union = ids_of.get(pieces[ids[place]][0] + pieces[ids[place + 1]][0])
            if union is not None and (best is None or pieces[union][1] > best[0]):
                best = (pieces[union][1], place, union)
        if best is None:
            return ids
        ids[best[1] : best[1] + 2] = [best[2]]


def raw_pieces(path: Path) -> list[tuple[bytes, float]]:
    content, place, found = path.read_bytes(), 4, []
    while place < len(content):
        score, length = struct.unpack_from("<fi", content, place)
        found.append((content[place + 8 : place + 8 + length], score))
        place += 8 + length
    return found


def write_pieces(path: Path, pieces: list[tuple[bytes, float]]) -> None:
    longest = max(len(piece) for piece, _ in pieces)
    records = b"".join(struct.pack("<fi", score, len(piece)) + piece for piece, score in pieces)
    path.write_bytes(struct.pack("<i", longest) + records)


def some_pieces(count: int) -> list[tuple[bytes, float]]:
    """Marks, bytes, and as many pieces as asked for: joined ones first, as SentencePiece orders them."""
    made = [b" t", b"he", b" the", b"in", b"an", b"and", b" a", b"the", b"re", b"er", b"here", b"ther", b" there"]
    letters = [bytes([letter]) for letter in b" etaoinshrdlucmfwypvbgkjqxz.,"]
    ordinary = (made + letters)[: count - 259]
    marks = [
        (b"<unk>", 0.0),
        (b"\n<s>\n", 0.0),
        (b"\n</s>\n", 0.0),
        *((f"<0x{byte:02X}>".encode(), 0.0) for byte in range(256)),
    ]
    return marks + [(piece, -float(rank)) for rank, piece in enumerate(ordinary)]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A whole file of random weights, with its tokenizer beside it."""
    return write_small(tmp_path / "small.bin", tied=True)


def write_small(path: Path, tied: bool) -> Path:
    sizes = {**SIZES, "vocab_size": SIZES["vocab_size"] * (1 if tied else -1)}
    header = llama2c.Header(8, 12, 2, 2, 1, 300, 16, tied)
    count = sum(int(np.prod(shape)) for shape in header.shapes().values())
    weights = np.random.default_rng(0).normal(size=count).astype("<f4")
    path.write_bytes(struct.pack("<7i", *sizes.values()) + weights.tobytes())
    write_pieces(path.with_name("tok300.bin"), some_pieces(300))
    return path


def test_the_known_story():
    run = Run(imported_model.write(llama2c.read(stories()), "stories"), device="cpu")
    assert run.facts["status"] == "imported"
    assert run.tokenizer.vocabulary == run.vocabulary == 512
    assert encode_prompt(run.tokenizer, "") == [1]
    found = run.sample("", tokens=65, temperature=0)[0]
    assert run.tokenizer.decode(choice.token for choice in found.choices).startswith(KNOWN)
    # Written as it comes, the first word keeps the space that its token has.
    assert found.text.startswith(" " + KNOWN)
    again = run.sample("Once upon a time, there was a little girl", tokens=40, temperature=0, cached=False)[0]
    assert str(again).startswith(KNOWN[:100])


@pytest.mark.parametrize("text", TEXTS)
def test_the_ids_of_llama2c(text, tmp_path):
    run = Run(imported_model.write(llama2c.read(stories()), "stories"), device="cpu")
    pieces = raw_pieces(stories().with_name("tok512.bin"))
    assert run.tokenizer.encode(text, specials=False).tolist() == merged(pieces, text)
    assert run.tokenizer.decode(run.tokenizer.encode(text, specials=False)) == text


@pytest.mark.parametrize("text", ["the then there", "hand in hand", "reherere therethe", "an\nand é", *TEXTS])
def test_the_ids_of_a_small_vocabulary(small, text):
    run = Run(imported_model.write(llama2c.read(small), "small"), device="cpu")
    assert run.tokenizer.encode(text, specials=False).tolist() == merged(some_pieces(300), text)


def test_an_output_matrix_of_its_own(tmp_path):
    found = llama2c.read(write_small(tmp_path / "untied.bin", tied=False))
    assert not found.model.tied
    assert found.model.attention == "grouped-query"
    assert found.tensors["head.weight"].shape == (300, 8)
    numbers = np.frombuffer((tmp_path / "untied.bin").read_bytes(), "<f4", offset=28)
    assert torch.equal(found.tensors["head.weight"], torch.from_numpy(numbers[-2400:].reshape(300, 8).copy()))
    Run(imported_model.write(found, "untied"), device="cpu").sample("the", tokens=3, temperature=0)


def test_the_tokenizer_may_lie_elsewhere(small, tmp_path):
    beside = tmp_path / "tok300.bin"
    expected = llama2c.read(small).tokenizer
    assert llama2c.read(small, beside.rename(tmp_path / "mine.bin")).tokenizer == expected
    (tmp_path / "mine.bin").rename(tmp_path / "tokenizer.bin")
    assert llama2c.read(small).tokenizer == expected


def test_scores_and_back(small):
    """From the document the scores come back in the same order, so that the same pieces are joined first."""
    pieces = llama2c.read_pieces(small.with_name("tok300.bin"), 300)
    back = from_document(to_document(pieces), ([1], []), 2)
    assert not isinstance(back, str)
    assert back.texts == pieces.texts
    assert back.kinds == pieces.kinds
    assert (back.start, back.end, back.starts, back.prefix) == (1, 2, True, True)

    def order(found):
        joined = [
            (score, text) for text, score, kind in zip(found.texts, found.scores, found.kinds, strict=True) if kind == 1
        ]
        return [text for _, text in sorted(joined, reverse=True)]

    assert order(back) == order(pieces)


def test_the_newer_way_to_write_a_leading_space(small):
    document = to_document(llama2c.read_pieces(small.with_name("tok300.bin"), 300))
    expected = from_document(document, ([], []), 2)
    document["normalizer"] = None
    document["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    assert from_document(document, ([], []), 2) == expected
    document["pre_tokenizer"]["split"] = True
    with refused("tokenizer-does-not-fit"):
        from_document(document, ([], []), 2)


def test_merges_that_scores_cannot_say(small):
    document = to_document(llama2c.read_pieces(small.with_name("tok300.bin"), 300))
    merges = document["model"]["merges"]
    document["model"]["merges"] = [pair for pair in merges if pair != ["he", "re"]]
    with refused("tokenizer-does-not-fit"):
        from_document(document, ([1], []), 2)
    document["model"]["merges"] = [*[pair for pair in merges if pair != ["▁", "the"]], ["▁", "the"]]
    with refused("tokenizer-does-not-fit"):
        from_document(document, ([1], []), 2)
    with refused("tokenizer-does-not-fit"):
        from_document(document, ([1], [2]), 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content[:20], ("not-llama2c", "20")),
        (lambda content: content[:-4], ("damaged-llama2c", "dim=8", "hidden_dim=12")),
        (lambda content: content + b"\0\0\0\0", ("damaged-llama2c",)),
        (lambda content: struct.pack("<i", -8) + content[4:], ("not-llama2c", "dim=-8")),
        (lambda content: struct.pack("<i", 9) + content[4:], ("not-llama2c",)),
        (lambda content: b"GGUF" + content[4:], ("not-llama2c", "dim=")),
        (lambda content: struct.pack("<Ii", 0x616B3432, 1) + content[8:], ("unsupported-llama2c",)),
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
        (lambda content: content[:-3], ("tokenizer-does-not-fit", "299")),
        (lambda content: content[:5], ("tokenizer-does-not-fit",)),
        (lambda content: content + b"\0", ("tokenizer-does-not-fit",)),
        (lambda content: content[:8] + struct.pack("<i", -5) + content[12:], ("tokenizer-does-not-fit", "-5")),
        (lambda content: content.replace(b"<0x0A>", b"<0x0b>"), ("not-llama2c", "256")),
        (lambda content: content[:-1] + b"\xff", ("tokenizer-does-not-fit", "299")),
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
    with refused("missing-file", "tok300.bin", "tokenizer.bin"):
        llama2c.read(small)


def test_a_piece_twice(small):
    pieces = some_pieces(300)
    write_pieces(small.with_name("tok300.bin"), [*pieces[:-1], (b"he", -99.0)])
    with refused("piece-twice", "'he'"):
        llama2c.read(small)


def test_no_file(tmp_path):
    with refused("unreadable-file"):
        llama2c.read(tmp_path / "nowhere.bin")
