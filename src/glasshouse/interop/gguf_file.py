"""Reads the GGUF file format: metadata and tensors by name, with every length checked. Knows no architecture.

The file is little endian. It consists of the magic "GGUF", a version, the number of tensors and of metadata entries, the
metadata (key, type, value), the tensor infos (name, shape, type, offset), and the data of the tensors at multiples of the
alignment. A shape starts with the innermost dimension.
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
# Metadata entries, their values, tensors and bytes of strings; the largest vocabularies need a quarter of it.
MOST_ITEMS: Final = 2**24

# NumPy types of the metadata types that are single numbers.
_SCALAR_TYPES: Final = {
    **dict(enumerate(("<u1", "<i1", "<u2", "<i2", "<u4", "<i4", "<f4", "?"))),
    **dict(enumerate(("<u8", "<i8", "<f8"), start=10)),
}
_STRING, _ARRAY = 8, 9
_MAX_DIMENSIONS: Final = 4
_FLOATS: Final = {0: torch.float32, 1: torch.float16, 30: torch.bfloat16}
"""The tensor types that are not quantised."""


@dataclass(frozen=True)
class TensorInfo:
    """The shape and type of a stored tensor, and the range of bytes that holds its data, counted from that of all data."""

    shape: tuple[int, ...]
    type: int
    start: int
    size: int


class GGUF:
    """A memory-mapped GGUF file: `metadata` by key, and tensors by name, converted to float32 when they are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.stat().st_size == 0:
                raise OSError("it is empty")
            self._bytes = np.memmap(path, np.uint8, mode="r")
        except OSError as error:
            raise CannotImport(f"cannot read {path}: {error.strerror or error}; check the path") from None
        self._position = 0
        magic, version = bytes(self._read(4, "<u1")), self._read_number("<u4")
        if magic != MAGIC or version not in VERSIONS:
            versions = " or ".join(map(str, VERSIONS))
            raise CannotImport(f"{path} begins with {magic!r} and {version}, not GGUF and {versions}; check the path")
        self._items = 0
        tensors, entries = self._read_count("tensors"), self._read_count("metadata entries")
        self.metadata: dict[str, Any] = {}
        for _ in range(entries):
            key = self._read_string()
            if key in self.metadata:
                raise self._damaged(f"it has the metadata entry {key!r} twice")
            self.metadata[key] = self._read_value(self._read_number("<u4"), key)
        self.tensors = self._read_tensor_infos(tensors)

    def tensor(self, name: str) -> Tensor:
        """A tensor as float32; a quantised one is dequantised."""
        info = self.tensors[name]
        raw = self._bytes[self._data_start + info.start :][: info.size]
        if info.type in _FLOATS:
            return torch.from_numpy(np.array(raw)).view(_FLOATS[info.type]).float().reshape(info.shape)
        gguf = gguf_package(f"{self.path}, whose tensor {name!r} is quantised,")
        quantisation = gguf.GGMLQuantizationType(info.type)
        try:
            rows = np.asarray(raw).reshape(gguf.quant_shape_to_byte_shape(info.shape, quantisation))
            return torch.from_numpy(np.array(gguf.dequantize(rows, quantisation), np.float32).reshape(info.shape))
        except NotImplementedError:
            raise CannotImport(f"{self.path}: {name!r} is {quantisation.name}, not readable; choose another file") from None

    def _read_tensor_infos(self, count: int) -> dict[str, TensorInfo]:
        infos: dict[str, TensorInfo] = {}
        for _ in range(count):
            name, dimensions = self._read_string(), self._read_number("<u4")
            if name in infos or dimensions > _MAX_DIMENSIONS:
                raise self._damaged(f"it has the tensor {name!r} twice, or with {dimensions} dimensions")
            shape = tuple(reversed([int(self._read_number("<u8")) for _ in range(dimensions)]))
            tensor_type, start = self._read_number("<u4"), self._read_number("<u8")
            infos[name] = TensorInfo(shape, tensor_type, start, self._data_size(name, shape, tensor_type))
        alignment = self.metadata.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise self._damaged(f"general.alignment is {alignment!r}")
        self._data_start = -(-self._position // alignment) * alignment
        for name, info in infos.items():
            if self._data_start + info.start + info.size > len(self._bytes):
                raise self._damaged(f"the tensor {name!r} ends after the file")
        return infos

    def _data_size(self, name: str, shape: tuple[int, ...], tensor_type: int) -> int:
        count = math.prod(shape)
        if tensor_type in _FLOATS:
            return count * _FLOATS[tensor_type].itemsize
        gguf = gguf_package(f"{self.path}, whose tensor {name!r} is quantised,")
        try:
            block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(tensor_type)]
        except (KeyError, ValueError):
            raise self._damaged(f"the tensor {name!r} has the unknown type {tensor_type}") from None
        if not shape or shape[-1] % block:
            raise self._damaged(f"the tensor {name!r} of shape {shape} does not divide into blocks of {block}")
        return count // block * size

    def _read_value(self, value_type: int, key: str, depth: int = 0) -> Any:
        if value_type in _SCALAR_TYPES:
            return self._read_number(_SCALAR_TYPES[value_type])
        if value_type == _STRING:
            return self._read_string()
        if value_type != _ARRAY or depth > _MAX_DIMENSIONS:
            raise self._damaged(f"the metadata entry {key!r} has the unknown type {value_type}")
        item_type, count = self._read_number("<u4"), self._read_count(f"values of {key!r}")
        if item_type in _SCALAR_TYPES:
            return self._read(count, _SCALAR_TYPES[item_type]).tolist()
        return [self._read_value(item_type, key, depth + 1) for _ in range(count)]

    def _read_count(self, items: str) -> int:
        """Read a number of items. Every item takes at least one byte, so a number above the file size means damage.

        All items of a file together are bounded too, because a sparse file can be of any size.
        """
        count = self._read_number("<u8")
        self._items += count
        if count > len(self._bytes) or self._items > MOST_ITEMS:
            raise self._damaged(f"it claims {count} {items}")
        return count

    def _read_number(self, number_type: str) -> Any:
        return self._read(1, number_type)[0].item()

    def _read_string(self) -> str:
        return bytes(self._read(self._read_count("bytes of a string"), "<u1")).decode("utf-8", "replace")

    def _read(self, count: int, number_type: str) -> np.ndarray:
        size = count * np.dtype(number_type).itemsize
        if self._position + size > len(self._bytes):
            raise self._damaged("it ends within its metadata")
        raw = self._bytes[self._position : self._position + size]
        self._position += size
        return np.frombuffer(raw.tobytes(), number_type)

    def _damaged(self, reason: str) -> CannotImport:
        return CannotImport(f"{self.path} is a damaged or incomplete GGUF file: {reason}; download or export it again")


def gguf_package(purpose: str) -> Any:
    """The Python package `gguf`, which dequantises tensors and writes files."""
    try:
        import gguf
    except ImportError:
        raise MissingExtra("gguf", purpose) from None
    return gguf
