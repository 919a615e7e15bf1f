"""Imports llama2.c model files such as stories260K.bin, with their tokenizer file. Knows no other format.

A model file is a header of seven integers, then the float32 weights in a fixed order and without names. The header
determines the size of the file, which reveals a truncated file.
"""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch

from glasshouse.interop import file_limits, gguf_models, imported_model, sentencepiece
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.interop.sentencepiece import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, ScoredPieces
from glasshouse.interop.weight_mapping import Tensors
from glasshouse.specs.errors import CannotImport

EPSILON: Final = 1e-5
BOS_ID, EOS_ID, FIRST_BYTE_ID = 1, 2, 3
HEADER: Final = struct.Struct("<7i")
_VERSIONED_MAGIC: Final = 0x616B3432  # "ak42", the beginning of files of version 1 and 2
_MAX_SIZE: Final = 1 << 24  # a larger number in a header is not a size
_PIECE_HEADER: Final = struct.Struct("<fi")
LARGEST_TOKENIZER: Final = 2**28  # in bytes, far more than any


@dataclass(frozen=True)
class Header:
    """The sizes of a model, from the beginning of its file, with their names in llama2.c."""

    dim: int
    hidden_dim: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    vocab_size: int
    seq_len: int
    tied: bool

    @property
    def sizes(self) -> dict[str, int]:
        return {name: size for name, size in vars(self).items() if name != "tied"}

    @property
    def head_width(self) -> int:
        return self.dim // self.n_heads

    @property
    def number_count(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes().values())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors of the file in their order, under their names in GGUF. The first axis of those with {} are layers.

        The cosines and sines are precomputed rotary tables.
        """
        width, layers, hidden = self.dim, self.n_layers, self.hidden_dim
        key_value_rows = self.n_kv_heads * self.head_width
        return {
            "token_embd.weight": (self.vocab_size, width),
            "blk.{}.attn_norm.weight": (layers, width),
            "blk.{}.attn_q.weight": (layers, width, width),
            "blk.{}.attn_k.weight": (layers, key_value_rows, width),
            "blk.{}.attn_v.weight": (layers, key_value_rows, width),
            "blk.{}.attn_output.weight": (layers, width, width),
            "blk.{}.ffn_norm.weight": (layers, width),
            "blk.{}.ffn_gate.weight": (layers, hidden, width),
            "blk.{}.ffn_down.weight": (layers, width, hidden),
            "blk.{}.ffn_up.weight": (layers, hidden, width),
            "output_norm.weight": (width,),
            "cosines": (self.seq_len, self.head_width // 2),
            "sines": (self.seq_len, self.head_width // 2),
            **({} if self.tied else {"output.weight": (self.vocab_size, width)}),
        }

    @property
    def metadata(self) -> dict[str, float]:
        """The same sizes as the metadata of a GGUF file."""
        return {
            "llama.embedding_length": self.dim,
            "llama.feed_forward_length": self.hidden_dim,
            "llama.block_count": self.n_layers,
            "llama.attention.head_count": self.n_heads,
            "llama.attention.head_count_kv": self.n_kv_heads,
            "llama.vocab_size": self.vocab_size,
            "llama.context_length": self.seq_len,
            "llama.attention.layer_norm_rms_epsilon": EPSILON,
        }


def read(path: Path, tokenizer: Path | None = None) -> ImportedModel:
    """A model and its tokenizer.

    Without a tokenizer file, `tokN.bin` (N is the size of the vocabulary) or `tokenizer.bin` in the same directory is read.
    """
    header = read_header(path)
    file_limits.check_memory(path, header.number_count)
    pieces = read_pieces(tokenizer or _find_tokenizer(path, header.vocab_size), header.vocab_size)
    return imported_model.build(
        gguf_models.LLAMA,
        {**gguf_models.LLAMA.read_config(header.metadata), "tied": header.tied},
        _split_tensors(path, header),
        str(path),
        tokenizer=sentencepiece.to_tokenizer_json(pieces),
        origin=f"llama2.c model {path.name}",
        token_ids={"bos": BOS_ID, "eos": EOS_ID},
    )


def read_header(path: Path) -> Header:
    """The sizes of a model. Impossible sizes, or a file that is not exactly as long as they require, are an error."""
    content, length = _read_bytes(path, HEADER.size), _file_size(path)
    if len(content) < HEADER.size:
        raise CannotImport(f"{path} is not a llama2.c model: it has {length} bytes, less than a header; check the path")
    if struct.unpack_from("<I", content)[0] == _VERSIONED_MAGIC:
        raise CannotImport(
            f"{path} is a llama2.c model of version {struct.unpack_from('<i', content, 4)[0]}, and only version 0 is "
            "supported; export it again with: python export.py --version 0"
        )
    dim, hidden_dim, layers, heads, key_value_heads, vocabulary, context = HEADER.unpack_from(content)
    # A negative vocabulary means that the output matrix is not tied to the embedding.
    header = Header(dim, hidden_dim, layers, heads, key_value_heads, abs(vocabulary), context, tied=vocabulary > 0)
    for name, size in header.sizes.items():
        if not 0 < size < _MAX_SIZE:
            raise CannotImport(
                f"{path} is not a llama2.c model: {name}={size} in its header is not a possible size; check the path"
            )
    if header.dim % header.n_heads or header.n_heads % header.n_kv_heads or header.head_width % 2:
        raise CannotImport(
            f"{path} is not a llama2.c model: its header has dim={header.dim}, n_heads={header.n_heads}, "
            f"n_kv_heads={header.n_kv_heads}, but n_kv_heads must divide n_heads, and n_heads must divide dim into even "
            "head widths; check the path"
        )
    expected = HEADER.size + 4 * header.number_count
    if length != expected:
        listing = ", ".join(f"{name}={size}" for name, size in header.sizes.items())
        raise CannotImport(
            f"{path} is too {'short' if length < expected else 'long'}: its header ({listing}) requires {expected} bytes, "
            f"but it has {length}; download or export it again"
        )
    return header


def read_pieces(path: Path, vocabulary: int) -> ScoredPieces:
    """The pieces of a tokenizer file: the score, length and bytes of one piece for each token of the model."""
    content = _read_bytes(path, LARGEST_TOKENIZER + 1)
    remedy = f"give the tokenizer of this model, usually tok{vocabulary}.bin or tokenizer.bin"
    texts, scores, position = [], [], 4
    for id in range(vocabulary):
        try:
            score, length = _PIECE_HEADER.unpack_from(content, position)
            piece = content[position + _PIECE_HEADER.size : position + _PIECE_HEADER.size + length]
            if length < 0 or len(piece) < length:
                raise ValueError(f"piece {id} has length {length}")
            texts.append(piece.decode("utf-8"))
        except (struct.error, ValueError) as error:
            raise CannotImport(
                f"{path} is not the llama2.c tokenizer of a model with {vocabulary} tokens: piece {id} cannot be read "
                f"({error}); {remedy}"
            ) from None
        scores.append(score)
        position += _PIECE_HEADER.size + length
    if position != _file_size(path):
        raise CannotImport(
            f"{path} is not the llama2.c tokenizer of a model with {vocabulary} tokens: {_file_size(path) - position} bytes "
            f"follow its last piece; {remedy}"
        )
    byte_pieces = texts[FIRST_BYTE_ID : FIRST_BYTE_ID + 256]
    if vocabulary < FIRST_BYTE_ID + 256 or byte_pieces != [f"<0x{byte:02X}>" for byte in range(256)]:
        raise CannotImport(
            f"{path} is not a llama2.c tokenizer: its pieces {FIRST_BYTE_ID} to {FIRST_BYTE_ID + 255} are not the 256 byte "
            "pieces; check the path"
        )
    types = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * (vocabulary - FIRST_BYTE_ID - 256)]
    # llama2.c stores the pieces as it prints them: special tokens between line breaks, and spaces as they are.
    texts[:FIRST_BYTE_ID] = ["<unk>", "<s>", "</s>"]
    texts = [
        text.replace(" ", SPACE) if piece_type == NORMAL else text for text, piece_type in zip(texts, types, strict=True)
    ]
    return ScoredPieces(tuple(texts), tuple(scores), tuple(types), BOS_ID, EOS_ID)


def _split_tensors(path: Path, header: Header) -> Tensors:
    """The tensors of the file, with those of each layer on their own."""
    numbers = np.memmap(path, "<f4", mode="r", offset=HEADER.size)
    tensors: Tensors = {}
    position = 0
    for name, shape in header.shapes().items():
        count = math.prod(shape)
        tensor = torch.from_numpy(numbers[position : position + count].reshape(shape).astype(np.float32))
        if "{}" in name:
            tensors |= {name.replace("{}", str(layer)): matrix for layer, matrix in enumerate(tensor)}
        elif name.endswith("weight"):
            tensors[name] = tensor
        position += count
    return tensors


def _find_tokenizer(path: Path, vocabulary: int) -> Path:
    candidates = [path.with_name(f"tok{vocabulary}.bin"), path.with_name("tokenizer.bin")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    names = " nor ".join(candidate.name for candidate in candidates)
    raise CannotImport(f"the directory of {path} has neither {names}; put the tokenizer there, or give it with --tokenizer")


def _file_size(path: Path) -> int:
    return path.stat().st_size


def _read_bytes(path: Path, most: int) -> bytes:
    """The first bytes of a file, all of them if there are no more."""
    try:
        with open(path, "rb") as file:
            return file.read(min(most, _file_size(path)))
    except OSError as error:
        raise CannotImport(f"cannot read {path}: {error.strerror}; check the path") from None
