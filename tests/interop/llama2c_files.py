"""Small llama2.c model and tokenizer files, and the published model stories260K."""

import struct
from pathlib import Path

import numpy as np

from glasshouse.interop import llama2c
from tests import needs

# How stories260K is known to continue the empty prompt.
STORY = (
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


def stories_file() -> Path:
    """The file of stories260K; without it the test is skipped."""
    return needs.data("weights/stories260K.bin")


def encode_by_scores(pieces: list[tuple[bytes, float]], text: str) -> list[int]:
    """A plain version of llama2.c's encoder.

    It starts with code points, or their bytes, and always merges the pair with the best score, the leftmost if equal.
    """
    ids_of = {piece: id for id, (piece, _) in enumerate(pieces)}
    ids = [ids_of[b" "]] if text else []
    for letter in text:
        raw = letter.encode()
        ids += [ids_of[raw]] if raw in ids_of else [byte + 3 for byte in raw]
    while True:
        best = None
        for position in range(len(ids) - 1):
            union = ids_of.get(pieces[ids[position]][0] + pieces[ids[position + 1]][0])
            if union is not None and (best is None or pieces[union][1] > best[0]):
                best = (pieces[union][1], position, union)
        if best is None:
            return ids
        ids[best[1] : best[1] + 2] = [best[2]]


def read_raw_pieces(path: Path) -> list[tuple[bytes, float]]:
    content, position, pieces = path.read_bytes(), 4, []
    while position < len(content):
        score, length = struct.unpack_from("<fi", content, position)
        pieces.append((content[position + 8 : position + 8 + length], score))
        position += 8 + length
    return pieces


def write_pieces(path: Path, pieces: list[tuple[bytes, float]]) -> None:
    longest = max(len(piece) for piece, _ in pieces)
    records = b"".join(struct.pack("<fi", score, len(piece)) + piece for piece, score in pieces)
    path.write_bytes(struct.pack("<i", longest) + records)


def some_pieces(count: int) -> list[tuple[bytes, float]]:
    """A vocabulary of `count` pieces: special tokens, bytes, then merged pieces before letters, as in SentencePiece."""
    merged = [b" t", b"he", b" the", b"in", b"an", b"and", b" a", b"the", b"re", b"er", b"here", b"ther", b" there"]
    letters = [bytes([letter]) for letter in b" etaoinshrdlucmfwypvbgkjqxz.,"]
    normal = (merged + letters)[: count - 259]
    special = [
        (b"<unk>", 0.0),
        (b"\n<s>\n", 0.0),
        (b"\n</s>\n", 0.0),
        *((f"<0x{byte:02X}>".encode(), 0.0) for byte in range(256)),
    ]
    return special + [(piece, -float(rank)) for rank, piece in enumerate(normal)]


def write_small_model(path: Path, tied: bool) -> Path:
    """A model file with random weights, and its tokenizer file in the same directory."""
    sizes = {**SIZES, "vocab_size": SIZES["vocab_size"] * (1 if tied else -1)}
    count = llama2c.number_count(llama2c.tensor_shapes(SIZES, tied))
    weights = np.random.default_rng(0).normal(size=count).astype("<f4")
    path.write_bytes(struct.pack("<7i", *sizes.values()) + weights.tobytes())
    write_pieces(path.with_name("tok300.bin"), some_pieces(300))
    return path
