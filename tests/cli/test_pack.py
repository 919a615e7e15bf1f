"""`glasshouse pack` and `glasshouse unpack`."""

import shutil
from pathlib import Path

from glasshouse.specs.errors import GlasshouseError, RunError

from .program import call, checkpoints, folders, refused, weights, worked


def test_a_run_is_packed_and_used_elsewhere(run: Path, tmp_path: Path) -> None:
    worked(call("pack", "tiny"))
    sampled = worked(call("sample", "tiny", "--tokens", "4", "--seed", "1", "--device", "cpu")).out
    kept = weights(run)
    shutil.rmtree(run)
    assert "copy" in worked(call("unpack", "tiny.tar.gz", "--name", "copy")).out
    assert worked(call("sample", "copy", "--tokens", "4", "--seed", "1", "--device", "cpu")).out == sampled
    assert weights(run.parent / "copy") == kept
    worked(call("evaluate", "copy", "--device", "cpu"))
    worked(call("unpack", "tiny.tar.gz"))
    shutil.rmtree(checkpoints(run)[-1])
    worked(call("resume", "tiny", "--device", "cpu"))
    assert weights(run) == kept
    assert folders(run.parent) == ["copy", "tiny"]


def test_what_cannot_be_packed_or_unpacked_is_refused(run: Path, tmp_path: Path) -> None:
    refused(call("pack", "none"), RunError)
    refused(call("pack", "tiny", "--output", "none/tiny.tar.gz"), GlasshouseError)
    worked(call("pack", "tiny", "--output", "out.tar.gz"))
    refused(call("pack", "tiny", "--output", "out.tar.gz"), GlasshouseError)
    refused(call("unpack", "out.tar.gz"), RunError, "--name")
    refused(call("unpack", "out.tar.gz", "--name", "a/b"), RunError)
    refused(call("unpack", "none.tar.gz"), GlasshouseError, "none.tar.gz")
    refused(call("unpack", "out.tar.gz", "--name", "copy", "--max-bytes", "1000"), GlasshouseError, "--max-bytes")
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "out.tar.gz").read_bytes()[:2000])
    refused(call("unpack", "cut.tar.gz", "--name", "copy"), RunError, "cut.tar.gz")
    (tmp_path / "empty.tar.gz").write_bytes(b"")
    refused(call("unpack", "empty.tar.gz"), RunError, "its end is missing")
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    refused(call("unpack", "model.gguf"), RunError, "no .tar.gz file", "glasshouse import")
    refused(call("unpack", str(tmp_path)), GlasshouseError, "glasshouse pack")
    assert folders(run.parent) == ["tiny"]
