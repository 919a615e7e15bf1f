"""The GGUF file: its facts by name and its tensors, every length checked before it is believed. Knows no architecture.

Little endian: "GGUF", a version, counts, then facts (name, type, value), then tensors (name, shape, type, place), then their
numbers at multiples of the alignment. The first number of a shape is the innermost.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from glasshouse.specs.errors import CannotImport, MissingExtra

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)
ALIGNMENT: Final = 32
F32, F16, BF16 = 0, 1, 30

_NUMBERS: Final = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "?",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_STRING, _ARRAY = 8, 9
_MOST_AXES: Final = 4
_PLAIN: Final = {F32: 4, F16: 2, BF16: 2}
"""Bytes of a number, for the kinds that are plain numbers."""


@dataclass(frozen=True)
class Stored:
    """Where a tensor lies, and of which kind its numbers are."""

    shape: tuple[int, ...]
    kind: int
    start: int
    size: int


class GGUF:
    """A file, mapped into memory: `facts` by name, and tensors by name, made float32 when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.stat().st_size == 0:
                raise CannotImport("not-gguf", f"{path} is not a GGUF file: it is empty")
            self._bytes = np.memmap(path, np.uint8, mode="r")
        except OSError as error:
            raise CannotImport("unreadable-file", f"cannot read {path}: {error.strerror}") from None
        if bytes(self._bytes[:4]) != MAGIC:
            raise CannotImport(
                "not-gguf", f"{path} is not a GGUF file: it begins with {bytes(self._bytes[:4])!r}, not with {MAGIC!r}"
            )
        self._place = 4
        version = self._number("<u4")
        if version not in VERSIONS:
            raise CannotImport(
                "unsupported-gguf", f"{path} is a GGUF file of version {version}; only {VERSIONS} are read, little endian"
            )
        tensors, facts = self._count("tensors"), self._count("facts")
        self.facts: dict[str, Any] = {}
        for _ in range(facts):
            name = self._string()
            self.facts[name] = self._value(self._number("<u4"), name)
        self.tensors = self._directory(tensors)

    def tensor(self, name: str) -> Tensor:
        """A tensor's numbers as float32."""
        stored = self.tensors[name]
        raw = self._bytes[stored.start : stored.start + stored.size]
        if stored.kind == F32:
            numbers = raw.view("<f4").astype(np.float32)
        elif stored.kind == F16:
            numbers = raw.view("<f2").astype(np.float32)
        elif stored.kind == BF16:
            # The upper half of a float32.
            numbers = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            gguf = gguf_package(f"{self.path}, whose tensor {name!r} is quantised,")
            kind = gguf.GGMLQuantizationType(stored.kind)
            try:
                rows = np.asarray(raw).reshape(gguf.quant_shape_to_byte_shape(stored.shape, kind))
                numbers = np.array(gguf.dequantize(rows, kind), np.float32)
            except NotImplementedError:
                raise CannotImport(
                    "unsupported-gguf", f"{self.path}: the tensor {name!r} is of kind {kind.name}, which is not read"
                ) from None
        return torch.from_numpy(numbers.reshape(stored.shape))

    def _directory(self, count: int) -> dict[str, Stored]:
        found: dict[str, Stored] = {}
        for _ in range(count):
            name = self._string()
            axes = self._number("<u4")
            if axes > _MOST_AXES:
                raise self._damaged(f"the tensor {name!r} has {axes} axes")
            shape = tuple(reversed([int(self._number("<u8")) for _ in range(axes)]))
            kind = self._number("<u4")
            found[name] = Stored(shape, kind, self._number("<u8"), self._size(name, shape, kind))
        alignment = self.facts.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise self._damaged(f"general.alignment is {alignment!r}")
        begin = -(-self._place // alignment) * alignment
        for name, stored in found.items():
            start, end = begin + stored.start, begin + stored.start + stored.size
            if end > len(self._bytes):
                raise self._damaged(f"the tensor {name!r} would end at byte {end}, and the file has {len(self._bytes)}")
            found[name] = Stored(stored.shape, stored.kind, start, stored.size)
        return found

    def _size(self, name: str, shape: tuple[int, ...], kind: int) -> int:
        """The bytes that a tensor takes."""
        count = math.prod(shape)
        if kind in _PLAIN:
            return count * _PLAIN[kind]
        gguf = gguf_package(f"{self.path}, whose tensor {name!r} is quantised,")
        try:
            block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(kind)]
        except (KeyError, ValueError):
            raise self._damaged(f"the tensor {name!r} is of an unknown kind, {kind}") from None
        if not shape or shape[-1] % block:
            raise self._damaged(f"the tensor {name!r} of shape {shape} is not made of blocks of {block}")
        return count // block * size

    def _value(self, kind: int, name: str, inside: int = 0) -> Any:
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY or inside > _MOST_AXES:
            raise self._damaged(f"the fact {name!r} is of an unknown type, {kind}")
        inner, count = self._number("<u4"), self._count(f"values of {name!r}")
        if inner in _NUMBERS:
            return self._take(count, _NUMBERS[inner]).tolist()
        return [self._value(inner, name, inside + 1) for _ in range(count)]

    def _count(self, of: str) -> int:
        """A number of things, each of which takes a byte at least."""
        count = self._number("<u8")
        if count > len(self._bytes):
            raise self._damaged(f"it claims {count} {of}")
        return count

    def _number(self, kind: str) -> Any:
        return self._take(1, kind)[0].item()

    def _string(self) -> str:
        return bytes(self._take(self._count("letters"), "<u1")).decode("utf-8", "replace")

    def _take(self, count: int, kind: str) -> np.ndarray:
        size = count * np.dtype(kind).itemsize
        if self._place + size > len(self._bytes):
            raise self._damaged("its facts do not end before the file does")
        taken = self._bytes[self._place : self._place + size]
        self._place += size
        return np.frombuffer(taken.tobytes(), kind)

    def _damaged(self, what: str) -> CannotImport:
        return CannotImport(
            "damaged-gguf", f"{self.path} is a damaged or incomplete GGUF file: {what}; fetch or export it again"
        )


def gguf_package(purpose: str) -> Any:
    """The package `gguf`, which knows what quantised numbers mean and how a file is written."""
    try:
        import gguf
    except ImportError:
        raise MissingExtra("gguf", purpose) from None
    return gguf
