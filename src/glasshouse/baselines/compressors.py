"""Compressors as baselines of language models: bits per byte of xz and zstd after they have seen the training text.

The cost of a text is the compressed size of training text and text together, minus that of the training text alone.
"""

import lzma
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

from glasshouse.baselines.baseline import Baseline, BaselineData
from glasshouse.formatting import size

# Limits that keep this within seconds. The last bytes of the training text and the first of the held-out text are used.
MOST_TRAINING_BYTES = 3_000_000
MOST_HELD_OUT_BYTES = 500_000
ZSTD_LEVEL = 19
# Modules with zstd: that of Python 3.14 and two packages. All have `compress(data, level)`.
ZSTD_MODULES = ("compression.zstd", "zstandard", "pyzstd")

Compress = Callable[[bytes], bytes]


def compressors(data: BaselineData) -> Iterator[Baseline]:
    """xz, and zstd if a module for it is installed."""
    training = last_bytes(text.text for text in data.documents("train"))
    held_out, total = first_bytes(text.text for text in data.documents(data.held_out))
    if not held_out:
        return
    remarks = []
    if len(training) == MOST_TRAINING_BYTES:
        remarks.append(f"has seen the last {size(len(training))} of the training text")
    if len(held_out) < total:
        remarks.append(f"measured on the first {size(len(held_out))} of {size(total)}")
    for name, compress in (("xz", _xz), ("zstd", find_zstd())):
        if compress is None:
            yield Baseline(name, name, note="not measured: no module for zstd is installed (pip install zstandard)")
            continue
        cost = len(compress(training + held_out)) - len(compress(training))
        yield Baseline(name, name, {"bits_per_byte": 8 * cost / len(held_out)}, note=", ".join(remarks))


def last_bytes(texts: Iterable[str], most: int = MOST_TRAINING_BYTES) -> bytes:
    """The last `most` bytes of a text. Not much more than these are in memory."""
    kept = bytearray()
    for text in texts:
        kept += text.encode()
        if len(kept) > 2 * most:
            del kept[:-most]
    return bytes(kept[-most:])


def first_bytes(texts: Iterable[str], most: int = MOST_HELD_OUT_BYTES) -> tuple[bytes, int]:
    """The first `most` bytes of a text, and the size of the whole."""
    kept, total = bytearray(), 0
    for text in texts:
        encoded = text.encode()
        total += len(encoded)
        kept += encoded[: most - len(kept)]
    return bytes(kept), total


def find_zstd() -> Compress | None:
    """The function of the first installed module that has zstd."""
    for name in ZSTD_MODULES:
        try:
            module = import_module(name)
        except ImportError:
            continue
        return lambda data: bytes(module.compress(data, ZSTD_LEVEL))
    return None


def _xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=6)
