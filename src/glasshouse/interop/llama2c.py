"""Imports llama2.c model files such as stories260K.bin, with their tokenizer file. Knows no other format.

A model file is a header of seven integers, then the float32 weights in a fixed order and without names. The header
determines the size of the file, which reveals a truncated file.
"""

import math
import struct
from pathlib import Path
from typing import Final

import numpy as np
import torch

from glasshouse.interop import gguf_models, imported_model, sentencepiece
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.interop.sentencepiece import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, ScoredPieces
from glasshouse.interop.weight_mapping import Tensors
from glasshouse.specs.errors import CannotImport

EPSILON: Final = 1e-5
BOS_ID, EOS_ID, FIRST_BYTE_ID = 1, 2, 3
HEADER: Final = struct.Struct("<7i")
_MAX_SIZE: Final = 1 << 24  # a larger number in a header is not a size, as at the beginning of files of version 1 and 2
_PIECE_HEADER: Final = struct.Struct("<fi")
LARGEST_TOKENIZER: Final = 2**28  # in bytes, far more than any
# The sizes in a header, in its order, and their names in the metadata of a GGUF file.
SIZES: Final = {
    "dim": "embedding_length",
    "hidden_dim": "feed_forward_length",
    "n_layers": "block_count",
    "n_heads": "attention.head_count",
    "n_kv_heads": "attention.head_count_kv",
    "vocab_size": "vocab_size",
    "seq_len": "context_length",
}


def read(path: Path, tokenizer: Path | None = None) -> ImportedModel:
    """A model and its tokenizer.

    Without a tokenizer file, `tokN.bin` (N is the size of the vocabulary) or `tokenizer.bin` in the same directory is read.
    """
    sizes, tied = read_header(path)
    shapes = tensor_shapes(sizes, tied)
    imported_model.check_memory(path, number_count(shapes))
    vocabulary = sizes["vocab_size"]
    pieces = read_pieces(tokenizer or _find_tokenizer(path, vocabulary), vocabulary)
    metadata: dict[str, float] = {f"llama.{SIZES[name]}": size for name, size in sizes.items()}
    metadata["llama.attention.layer_norm_rms_epsilon"] = EPSILON
    return imported_model.build(
        gguf_models.LLAMA,
        {**gguf_models.LLAMA.read_config(metadata), "tied": tied},
        _split_tensors(path, shapes),
        str(path),
        tokenizer=sentencepiece.to_tokenizer_json(pieces),
        origin=f"llama2.c model {path.name}",
        token_ids={"bos": BOS_ID, "eos": EOS_ID},
    )


def read_header(path: Path) -> tuple[dict[str, int], bool]:
    """The sizes of a model by their names in llama2.c, and whether its output matrix is the embedding.

    Impossible sizes, or a file that is not exactly as long as they require, are an error.
    """
    content, length = _read_bytes(path, HEADER.size), path.stat().st_size
    if len(content) < HEADER.size:
        raise CannotImport(f"{path} is not a llama2.c model: it has {length} bytes, less than a header; check the path")
    sizes = dict(zip(SIZES, HEADER.unpack_from(content), strict=True))
    # A negative vocabulary means that the output matrix is not tied to the embedding.
    tied = sizes["vocab_size"] > 0
    sizes["vocab_size"] = abs(sizes["vocab_size"])
    listing = ", ".join(f"{name}={size}" for name, size in sizes.items())
    width, heads, key_value_heads = sizes["dim"], sizes["n_heads"], sizes["n_kv_heads"]
    if not all(0 < size < _MAX_SIZE for size in sizes.values()) or width % (2 * heads) or heads % key_value_heads:
        rule = "sizes must be positive, n_kv_heads divide n_heads, and n_heads divide dim into even widths"
        raise CannotImport(f"{path} is no llama2.c model: it has {listing}, but {rule}; export it with --version 0")
    expected = HEADER.size + 4 * number_count(tensor_shapes(sizes, tied))
    if length != expected:
        raise CannotImport(f"{path} has {length} bytes and needs {expected} for {listing}; download or export it again")
    return sizes, tied


def tensor_shapes(sizes: dict[str, int], tied: bool) -> dict[str, tuple[int, ...]]:
    """The tensors of the file in their order, under their names in GGUF. The first axis of those with {} are layers.

    The cosines and sines are precomputed rotary tables.
    """
    width, hidden, layers, heads, key_value_heads, vocabulary, context = sizes.values()
    head_width = width // heads
    return {
        "token_embd.weight": (vocabulary, width),
        "blk.{}.attn_norm.weight": (layers, width),
        "blk.{}.attn_q.weight": (layers, width, width),
        "blk.{}.attn_k.weight": (layers, key_value_heads * head_width, width),
        "blk.{}.attn_v.weight": (layers, key_value_heads * head_width, width),
        "blk.{}.attn_output.weight": (layers, width, width),
        "blk.{}.ffn_norm.weight": (layers, width),
        "blk.{}.ffn_gate.weight": (layers, hidden, width),
        "blk.{}.ffn_down.weight": (layers, width, hidden),
        "blk.{}.ffn_up.weight": (layers, hidden, width),
        "output_norm.weight": (width,),
        "cosines": (context, head_width // 2),
        "sines": (context, head_width // 2),
        **({} if tied else {"output.weight": (vocabulary, width)}),
    }


def number_count(shapes: dict[str, tuple[int, ...]]) -> int:
    return sum(math.prod(shape) for shape in shapes.values())


def read_pieces(path: Path, vocabulary: int) -> ScoredPieces:
    """The pieces of a tokenizer file: the score, length and bytes of one piece for each token of the model."""
    content = _read_bytes(path, LARGEST_TOKENIZER + 1)
    texts, scores, position = [], [], 4
    try:
        for _ in range(vocabulary):
            score, length = _PIECE_HEADER.unpack_from(content, position)
            position += _PIECE_HEADER.size + length
            piece = content[position - length : position]
            if length < 0 or len(piece) < length:
                raise ValueError(f"it has length {length}")
            texts.append(piece.decode("utf-8"))
            scores.append(score)
        if left := path.stat().st_size - position:
            raise ValueError(f"{left} bytes follow its last piece")
        if texts[FIRST_BYTE_ID : FIRST_BYTE_ID + 256] != [f"<0x{byte:02X}>" for byte in range(256)]:
            raise ValueError(f"its pieces from {FIRST_BYTE_ID} on are not the 256 byte pieces")
    except (struct.error, ValueError) as error:
        where = f"piece {len(texts)} cannot be read: " if len(texts) < vocabulary else ""
        raise CannotImport(f"{path} is no tokenizer of {vocabulary}: {where}{error}; give tok{vocabulary}.bin") from None
    types = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * (vocabulary - FIRST_BYTE_ID - 256)]
    # llama2.c stores the pieces as it prints them: special tokens between line breaks, and spaces as they are.
    texts[:FIRST_BYTE_ID] = ["<unk>", "<s>", "</s>"]
    texts = [
        text.replace(" ", SPACE) if piece_type == NORMAL else text for text, piece_type in zip(texts, types, strict=True)
    ]
    return ScoredPieces(tuple(texts), tuple(scores), tuple(types), BOS_ID, EOS_ID)


def _split_tensors(path: Path, shapes: dict[str, tuple[int, ...]]) -> Tensors:
    """The tensors of the file, with those of each layer on their own."""
    numbers = np.memmap(path, "<f4", mode="r", offset=HEADER.size)
    tensors: Tensors = {}
    position = 0
    for name, shape in shapes.items():
        count = math.prod(shape)
        tensor = torch.from_numpy(numbers[position : position + count].reshape(shape).astype(np.float32))
        if "{}" in name:
            tensors |= {name.replace("{}", str(layer)): matrix for layer, matrix in enumerate(tensor)}
        elif name.endswith("weight"):
            tensors[name] = tensor
        position += count
    return tensors


def _find_tokenizer(path: Path, vocabulary: int) -> Path:
    names = (f"tok{vocabulary}.bin", "tokenizer.bin")
    found = [path.with_name(name) for name in names if path.with_name(name).is_file()]
    if not found:
        raise CannotImport(f"{path} has no {' or '.join(names)} beside it; put one there, or give it with --tokenizer")
    return found[0]


def _read_bytes(path: Path, most: int) -> bytes:
    """The first bytes of a file, all of them if there are no more."""
    try:
        with open(path, "rb") as file:
            return file.read(min(most, path.stat().st_size))
    except OSError as error:
        raise CannotImport(f"cannot read {path}: {error.strerror}; check the path") from None
