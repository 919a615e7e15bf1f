"""The model files of llama2.c (stories260K.bin and its kin), with the tokenizer that lies beside them. Knows no other file.

A model file is seven numbers and then float32 weights in a fixed order, without names: its size says whether it is whole.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch

from glasshouse.interop import imported_model, sentencepiece, weight_tables
from glasshouse.interop.imported_model import Imported
from glasshouse.interop.sentencepiece import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, ScoredPieces
from glasshouse.interop.weight_tables import Tensors, for_each, halved, joined, row
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec

EPSILON: Final = 1e-5
START, END, FIRST_BYTE = 1, 2, 3
HEADER: Final = struct.Struct("<7i")
_NEWER: Final = 0x616B3432  # how files of version 1 and 2 begin: "ak42"
_MOST: Final = 1 << 24  # a larger number in the header is no size
_RECORD: Final = struct.Struct("<fi")


@dataclass(frozen=True)
class Header:
    """The sizes of a model, as its file begins."""

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

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors of the file in their order; the last two are rotary tables, which can be computed."""
        width, layers, inner = self.width, self.layers, self.feed_forward
        shared = self.key_value_heads * self.head_width
        output = {} if self.tied else {"output": (self.vocabulary, width)}
        return {
            "embedding": (self.vocabulary, width),
            "attention_norm": (layers, width),
            "queries": (layers, width, width),
            "keys": (layers, shared, width),
            "values": (layers, shared, width),
            "mixed": (layers, width, width),
            "feed_forward_norm": (layers, width),
            "gate": (layers, inner, width),
            "down": (layers, width, inner),
            "up": (layers, inner, width),
            "final_norm": (width,),
            "cosines": (self.context, self.head_width // 2),
            "sines": (self.context, self.head_width // 2),
            **output,
        }


def read(path: Path, tokenizer: Path | None = None) -> Imported:
    """A model and its tokenizer: the file given, or beside it `tok512.bin` (512 being its vocabulary) or `tokenizer.bin`."""
    content = _bytes_of(path)
    header = read_header(content, path)
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
    shapes = imported_model.shapes(model, header.vocabulary, header.context)
    theirs = _tensors(content, header)
    return Imported(
        model=model,
        context=header.context,
        vocabulary=header.vocabulary,
        tensors=weight_tables.load(_rows(header), theirs, shapes, ignored=("cosines", "sines"), where=str(path)),
        tokenizer=sentencepiece.to_document(
            read_pieces(tokenizer or _tokenizer_beside(path, header.vocabulary), header.vocabulary)
        ),
        origin=f"llama2.c model {path.name}",
        token_ids={"bos": START, "eos": END},
    )


def read_header(content: bytes, path: Path) -> Header:
    """The sizes, once they are possible and the file is exactly as long as they ask for."""
    if len(content) < HEADER.size:
        raise CannotImport("not-llama2c", f"{path} is not a llama2.c model: it has {len(content)} bytes, less than a header")
    if struct.unpack_from("<I", content)[0] == _NEWER:
        raise CannotImport(
            "unsupported-llama2c",
            f"{path} is a llama2.c model of version {struct.unpack_from('<i', content, 4)[0]}; only the first form, "
            "version 0, is read here; export it again with: python export.py --version 0",
        )
    width, inner, layers, heads, key_value_heads, vocabulary, context = HEADER.unpack_from(content)
    # A vocabulary below zero is how a file says that the output has a matrix of its own.
    found = Header(width, inner, layers, heads, key_value_heads, abs(vocabulary), context, tied=vocabulary > 0)
    sizes = {"dim": width, "hidden_dim": inner, "n_layers": layers, "n_heads": heads, "n_kv_heads": key_value_heads}
    sizes |= {"vocab_size": abs(vocabulary), "seq_len": context}
    for name, size in sizes.items():
        if not 0 < size < _MOST:
            raise CannotImport("not-llama2c", f"{path} is not a llama2.c model: its header gives {name}={size}")
    if width % heads or heads % key_value_heads or found.head_width % 2:
        raise CannotImport(
            "not-llama2c",
            f"{path} is not a llama2.c model: its header gives dim={width}, n_heads={heads}, n_kv_heads={key_value_heads}, "
            "which do not divide",
        )
    expected = HEADER.size + 4 * sum(int(np.prod(shape, dtype=np.int64)) for shape in found.shapes().values())
    if len(content) != expected:
        listing = ", ".join(f"{name}={size}" for name, size in sizes.items())
        state = "cut short" if len(content) < expected else "too long"
        raise CannotImport(
            "damaged-llama2c",
            f"{path} is {state}: its header ({listing}) asks for {expected} bytes, and it has {len(content)}",
        )
    return found


def read_pieces(path: Path, vocabulary: int) -> ScoredPieces:
    """The tokenizer of a file: a score, a length and the bytes of each piece, as many as the model has tokens."""
    content = _bytes_of(path)
    texts, scores, place = [], [], 4
    for id in range(vocabulary):
        try:
            score, length = _RECORD.unpack_from(content, place)
            piece = content[place + _RECORD.size : place + _RECORD.size + length]
            if length < 0 or len(piece) < length:
                raise ValueError(f"piece {id} has length {length}")
            texts.append(piece.decode("utf-8"))
        except (struct.error, ValueError) as error:
            raise CannotImport(
                "tokenizer-does-not-fit",
                f"{path} is not the llama2.c tokenizer of a model of {vocabulary} tokens: it breaks off at "
                f"piece {id} ({error}); give the right one, usually tok{vocabulary}.bin or tokenizer.bin",
            ) from None
        scores.append(score)
        place += _RECORD.size + length
    if place != len(content):
        raise CannotImport(
            "tokenizer-does-not-fit",
            f"{path} is not the llama2.c tokenizer of a model of {vocabulary} tokens: it has {len(content) - place} bytes "
            f"after its last piece; give the right one, usually tok{vocabulary}.bin or tokenizer.bin",
        )
    if vocabulary < FIRST_BYTE + 256 or texts[FIRST_BYTE : FIRST_BYTE + 256] != [f"<0x{byte:02X}>" for byte in range(256)]:
        raise CannotImport("not-llama2c", f"{path} is not a llama2.c tokenizer: its pieces 3 to 258 are not the 256 bytes")
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * (vocabulary - FIRST_BYTE - 256)]
    # The file has the marks with newlines around them, and pieces with plain spaces, to be printed as they are.
    texts[:FIRST_BYTE] = ["<unk>", "<s>", "</s>"]
    spelled = [text.replace(" ", SPACE) if kind == NORMAL else text for text, kind in zip(texts, kinds, strict=True)]
    return ScoredPieces(tuple(spelled), tuple(scores), tuple(kinds), START, END)


def _rows(header: Header) -> list[weight_tables.WeightRow]:
    heads, shared = header.heads, header.key_value_heads
    width, shared_width = header.width, header.key_value_heads * header.head_width
    blocks = [
        row("blocks.{}.attention_connection.norm.weight", "attention_norm.{}"),
        joined(
            "blocks.{}.attention.projection.weight",
            ("queries.{}", width, halved(heads)),
            ("keys.{}", shared_width, halved(shared)),
            ("values.{}", shared_width),
        ),
        row("blocks.{}.attention.output.weight", "mixed.{}"),
        row("blocks.{}.feed_forward_connection.norm.weight", "feed_forward_norm.{}"),
        row("blocks.{}.feed_forward.gate.weight", "gate.{}"),
        row("blocks.{}.feed_forward.up.weight", "up.{}"),
        row("blocks.{}.feed_forward.down.weight", "down.{}"),
    ]
    output = [] if header.tied else [row("head.weight", "output")]
    around = [row("embedding.weight", "embedding"), row("final_norm.weight", "final_norm"), *output]
    return [*around, *for_each(header.layers, blocks)]


def _tensors(content: bytes, header: Header) -> Tensors:
    """The file's tensors, those of each layer by themselves: `queries.3`."""
    numbers = np.frombuffer(content, "<f4", offset=HEADER.size)
    found: Tensors = {}
    place = 0
    for name, shape in header.shapes().items():
        count = int(np.prod(shape))
        tensor = torch.from_numpy(numbers[place : place + count].reshape(shape).astype(np.float32))
        if len(shape) == 3 or name in ("attention_norm", "feed_forward_norm"):
            found |= {f"{name}.{layer}": each for layer, each in enumerate(tensor)}
        else:
            found[name] = tensor
        place += count
    return found


def _tokenizer_beside(path: Path, vocabulary: int) -> Path:
    candidates = [path.with_name(f"tok{vocabulary}.bin"), path.with_name("tokenizer.bin")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    names = " nor ".join(candidate.name for candidate in candidates)
    raise CannotImport("missing-file", f"beside {path} there is neither {names}; put its tokenizer there, or name the file")


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotImport("unreadable-file", f"cannot read {path}: {error.strerror}") from None
