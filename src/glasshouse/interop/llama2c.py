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

from glasshouse.interop import file_limits, imported_model, sentencepiece, weight_mapping
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.interop.sentencepiece import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, ScoredPieces
from glasshouse.interop.weight_mapping import Tensors, concatenation, for_each_layer, one_to_one, rotary_permutation
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec

EPSILON: Final = 1e-5
BOS_ID, EOS_ID, FIRST_BYTE_ID = 1, 2, 3
HEADER: Final = struct.Struct("<7i")
_VERSIONED_MAGIC: Final = 0x616B3432  # "ak42", the beginning of files of version 1 and 2
_MAX_SIZE: Final = 1 << 24  # a larger number in a header is not a size
_PIECE_HEADER: Final = struct.Struct("<fi")
LARGEST_TOKENIZER: Final = 2**28  # in bytes, far more than any


@dataclass(frozen=True)
class Header:
    """The sizes of a model, from the beginning of its file."""

    width: int
    feed_forward: int
    layers: int
    heads: int
    key_value_heads: int
    vocabulary: int
    context: int
    tied: bool

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def number_count(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes().values())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors of the file in their order. The cosines and sines are precomputed rotary tables."""
        width, layers, hidden = self.width, self.layers, self.feed_forward
        key_value_rows = self.key_value_heads * self.head_width
        output = {} if self.tied else {"output": (self.vocabulary, width)}
        return {
            "embedding": (self.vocabulary, width),
            "attention_norm": (layers, width),
            "queries": (layers, width, width),
            "keys": (layers, key_value_rows, width),
            "values": (layers, key_value_rows, width),
            "attention_output": (layers, width, width),
            "feed_forward_norm": (layers, width),
            "gate": (layers, hidden, width),
            "down": (layers, width, hidden),
            "up": (layers, hidden, width),
            "final_norm": (width,),
            "cosines": (self.context, self.head_width // 2),
            "sines": (self.context, self.head_width // 2),
            **output,
        }


def read(path: Path, tokenizer: Path | None = None) -> ImportedModel:
    """A model and its tokenizer.

    Without a tokenizer file, `tokN.bin` (N is the size of the vocabulary) or `tokenizer.bin` in the same directory is read.
    """
    header = read_header(path)
    file_limits.check_memory(path, header.number_count)
    grouped = header.key_value_heads < header.heads
    model = ModelSpec(
        kind="decoder",
        width=header.width,
        layers=header.layers,
        heads=header.heads,
        feed_forward=header.feed_forward,
        attention="grouped-query" if grouped else "dot-product",
        own={"key_value_heads": header.key_value_heads} if grouped else {},
        position="rotary",
        norm="rms",
        epsilon=EPSILON,
        connection="pre-norm",
        activation="swiglu",
        tied=header.tied,
        bias=False,
    )
    shapes = imported_model.tensor_shapes(model, header.vocabulary, header.context)
    theirs = _split_tensors(path, header)
    return ImportedModel(
        model=model,
        context=header.context,
        vocabulary=header.vocabulary,
        tensors=weight_mapping.import_tensors(
            _weight_mappings(header), theirs, shapes, ignored=("cosines", "sines"), where=str(path)
        ),
        tokenizer=sentencepiece.to_tokenizer_json(
            read_pieces(tokenizer or _find_tokenizer(path, header.vocabulary), header.vocabulary)
        ),
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
    width, hidden, layers, heads, key_value_heads, vocabulary, context = HEADER.unpack_from(content)
    # A negative vocabulary means that the output matrix is not tied to the embedding.
    header = Header(width, hidden, layers, heads, key_value_heads, abs(vocabulary), context, tied=vocabulary > 0)
    sizes = {"dim": width, "hidden_dim": hidden, "n_layers": layers, "n_heads": heads, "n_kv_heads": key_value_heads}
    sizes |= {"vocab_size": abs(vocabulary), "seq_len": context}
    for name, size in sizes.items():
        if not 0 < size < _MAX_SIZE:
            raise CannotImport(
                f"{path} is not a llama2.c model: {name}={size} in its header is not a possible size; check the path"
            )
    if width % heads or heads % key_value_heads or header.head_width % 2:
        raise CannotImport(
            f"{path} is not a llama2.c model: its header has dim={width}, n_heads={heads}, n_kv_heads={key_value_heads}, "
            "but n_kv_heads must divide n_heads, and n_heads must divide dim into even head widths; check the path"
        )
    expected = HEADER.size + 4 * header.number_count
    if length != expected:
        listing = ", ".join(f"{name}={size}" for name, size in sizes.items())
        problem = "too short" if length < expected else "too long"
        raise CannotImport(
            f"{path} is {problem}: its header ({listing}) requires {expected} bytes, but it has {length}; "
            "download or export it again"
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


def _weight_mappings(header: Header) -> list[weight_mapping.WeightMapping]:
    key_value_rows = header.key_value_heads * header.head_width
    blocks = [
        one_to_one("blocks.{}.attention_connection.norm.weight", "attention_norm.{}"),
        concatenation(
            "blocks.{}.attention.projection.weight",
            ("queries.{}", header.width, rotary_permutation(header.heads)),
            ("keys.{}", key_value_rows, rotary_permutation(header.key_value_heads)),
            ("values.{}", key_value_rows),
        ),
        one_to_one("blocks.{}.attention.output.weight", "attention_output.{}"),
        one_to_one("blocks.{}.feed_forward_connection.norm.weight", "feed_forward_norm.{}"),
        one_to_one("blocks.{}.feed_forward.gate.weight", "gate.{}"),
        one_to_one("blocks.{}.feed_forward.up.weight", "up.{}"),
        one_to_one("blocks.{}.feed_forward.down.weight", "down.{}"),
    ]
    return [
        one_to_one("embedding.weight", "embedding"),
        one_to_one("final_norm.weight", "final_norm"),
        *([] if header.tied else [one_to_one("head.weight", "output")]),
        *for_each_layer(header.layers, blocks),
    ]


def _split_tensors(path: Path, header: Header) -> Tensors:
    """The tensors of the file; those of the layers are separate, with names such as `queries.3`."""
    numbers = np.memmap(path, "<f4", mode="r", offset=HEADER.size)
    tensors: Tensors = {}
    position = 0
    for name, shape in header.shapes().items():
        count = math.prod(shape)
        tensor = torch.from_numpy(numbers[position : position + count].reshape(shape).astype(np.float32))
        if len(shape) == 3 or name in ("attention_norm", "feed_forward_norm"):
            tensors |= {f"{name}.{layer}": matrix for layer, matrix in enumerate(tensor)}
        else:
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
