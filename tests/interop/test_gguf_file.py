"""GGUF files that are damaged, truncated or something else are refused with an error that says what is wrong."""

import struct
from contextlib import suppress

import numpy as np
import pytest

from glasshouse.interop import gguf_models
from glasshouse.specs.errors import CannotImport, GlasshouseError
from tests import needs
from tests.refusals import refused

needs.package("gguf")


def test_files_that_are_not_gguf(tmp_path):
    path = tmp_path / "file.gguf"
    for content, kind in (
        (b"", CannotImport),
        (b"PK\x03\x04 and more", CannotImport),
        (b"GGUF", CannotImport),
        (b"GGUF" + struct.pack("<I", 1) + bytes(64), CannotImport),
        (b"GGUF" + struct.pack(">I", 3) + bytes(64), CannotImport),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), CannotImport),
    ):
        path.write_bytes(content)
        with refused(kind, path.name):
            gguf_models.read(path)
    with refused(GlasshouseError):
        gguf_models.read(tmp_path / "nowhere.gguf")


def test_truncated_or_altered_anywhere(llama_gguf, tmp_path):
    """A truncated file always raises our own error; an altered one raises it or gives a model."""
    whole = llama_gguf.read_bytes()
    path = tmp_path / "damaged.gguf"
    generator = np.random.default_rng(0)
    head = whole.index(b"token_embd.weight")
    for size in [*generator.integers(0, len(whole) - 64, 20), *generator.integers(0, head, 10)]:
        path.write_bytes(whole[:size])
        with pytest.raises(GlasshouseError):
            gguf_models.read(path)
    for _ in range(60):
        content = bytearray(whole)
        for position in generator.integers(0, 2500 if generator.random() < 0.7 else head + 1500, 3):
            content[position] = generator.integers(0, 256)
        path.write_bytes(content)
        with suppress(GlasshouseError):
            gguf_models.read(path)
