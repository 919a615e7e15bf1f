"""A run in one file: packed, unpacked, and refused if anything in it is not what its list says."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from glasshouse.records import lock, run_archive, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import GlasshouseError, RunError
from tests.refusals import refused as refuses

from .example_spec import SPEC


@pytest.fixture
def packed() -> Path:
    """A packed run `first`, with a file in a folder of its own."""
    run = run_folder.create(SPEC, "first", "first")
    (run.checkpoints / "step-00000002").mkdir(parents=True)
    (run.checkpoints / "step-00000002" / "model.safetensors").write_bytes(bytes(range(256)) * 9)
    (run.path / ".hidden").write_text("left out")
    run_archive.pack(run, Path("first.tar.gz"))
    return Path("first.tar.gz")


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def members(file: Path) -> dict[str, bytes]:
    with tarfile.open(file) as archive:
        return {header.name: archive.extractfile(header).read() for header in archive}


def write(headers: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    path = Path("changed.tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as archive:
        for header, content in headers:
            archive.addfile(header, io.BytesIO(content))
    return path


def member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.size, header.type, header.linkname = len(content), kind, link
    return header, content


def manifest_of(contents: dict[str, bytes], **changes: object) -> tuple[tarfile.TarInfo, bytes]:
    files = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in contents.items()}
    return member(run_archive.MANIFEST, json.dumps({"format": 1, "run": "first", "files": files, **changes}).encode())


def refused(path: Path, kind: type[GlasshouseError] = RunError) -> None:
    before = sorted(run_folder.root().iterdir())
    with refuses(kind):
        run_archive.unpack(path, "second")
    assert sorted(run_folder.root().iterdir()) == before, "something remains"


def test_a_run_is_the_same_after_a_round_trip(packed: Path) -> None:
    run, other = RunFolder(run_folder.root() / "first"), run_archive.unpack(packed, "second")
    expected = [name for name in names(run.path) if not name.startswith(".")]
    assert names(other.path) == expected
    for name in set(expected) - {"run.json"}:
        assert (run.path / name).read_bytes() == (other.path / name).read_bytes()
    assert run.facts() == other.facts()
    assert run_folder.find("second") == other


def test_the_same_run_gives_the_same_bytes(packed: Path) -> None:
    run_archive.pack(RunFolder(run_folder.root() / "first"), Path("again.tar.gz"))
    assert Path("again.tar.gz").read_bytes() == packed.read_bytes()
    assert "first" not in gzip.decompress(packed.read_bytes())[:100].decode("latin-1"), "the first member is the manifest"


def test_the_names_of_other_runs_are_forgotten(packed: Path) -> None:
    RunFolder(run_folder.root() / "first").record(family=["first", "x"], together=[".", "../x"], labels=["a"])
    run_archive.pack(RunFolder(run_folder.root() / "first"), Path("replica.tar.gz"))
    facts = run_archive.unpack(Path("replica.tar.gz"), "second").facts()
    assert "family" not in facts
    assert "together" not in facts
    assert facts["labels"] == ["a"]


def test_a_name_must_be_free_and_valid(packed: Path) -> None:
    with refuses(RunError):
        run_archive.unpack(packed)
    with refuses(RunError):
        run_archive.unpack(packed, "../second")
    path = write([manifest_of({}, run="../second")])
    with refuses(RunError):
        run_archive.unpack(path)


@pytest.mark.parametrize(
    "name", ["/tmp/x", "../x", "a/../../x", "a//x", "./x", "", ".lock", "a/.x", "a\\x", "C:x", "x\n", "é", "x" * 101]
)
def test_paths_out_of_the_folder_are_refused(packed: Path, name: str) -> None:
    contents = {**members(packed), name: b"x"}
    contents.pop(run_archive.MANIFEST)
    refused(write([manifest_of(contents), *(member(path or "x", data) for path, data in contents.items())]))


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.XHDTYPE],
)
def test_only_plain_files_are_accepted(packed: Path, kind: bytes) -> None:
    contents = members(packed)
    contents.pop(run_archive.MANIFEST)
    others = [member(path, data) for path, data in contents.items()]
    refused(write([manifest_of({**contents, "x": b""}), *others, member("x", kind=kind, link="/etc/passwd")]))


def test_files_and_list_must_agree(packed: Path) -> None:
    contents = members(packed)
    contents.pop(run_archive.MANIFEST)
    files = [member(path, data) for path, data in contents.items()]
    listed = manifest_of(contents)
    refused(write([listed, *files, member("more", b"x")]))
    refused(write([listed, *files, files[0]]))
    refused(write([listed, *files[1:]]))
    refused(write(files))
    refused(write([]))
    name = "spec.toml"
    refused(write([listed, *(member(path, data + b"#" * (path == name)) for path, data in contents.items())]))
    refused(write([listed, *(member(path, b"#" + data[1:] if path == name else data) for path, data in contents.items())]))
    refused(write([manifest_of({**contents, "a": b"", "a/b": b""}), *files, member("a"), member("a/b")]))
    refused(write([manifest_of({}), member("spec.toml", b"x")]))
    refused(write([manifest_of({})]), GlasshouseError)
    refused(write([manifest_of(contents, format=2), *files]), GlasshouseError)
    damaged: list[object] = [[], None, {"a": 1}, {"a": {"bytes": -1, "sha256": "0" * 64}}, {"a": {"bytes": 1}}]
    for broken in damaged:
        refused(write([manifest_of(contents, files=broken), *files]))


def test_a_truncated_or_altered_file_is_refused(packed: Path) -> None:
    data = packed.read_bytes()
    for length in (0, 5, 100, len(data) // 2, len(data) - 300):
        Path("cut.tar.gz").write_bytes(data[:length])
        refused(Path("cut.tar.gz"))
    Path("text.tar.gz").write_text("no archive")
    refused(Path("text.tar.gz"))
    refused(Path("none.tar.gz"), GlasshouseError)


def test_a_run_beyond_the_limit_is_refused(packed: Path) -> None:
    with refuses(GlasshouseError):
        run_archive.unpack(packed, "second", most_bytes=100)
    huge = {"x": {"bytes": 1 << 60, "sha256": "0" * 64}}
    refused(write([manifest_of({}, files=huge)]), GlasshouseError)
    with refuses(RunError):
        run_archive.unpack(write([manifest_of({}, files=huge)]), "second", most_bytes=1 << 61)
    many = {f"f{number}": {"bytes": 0, "sha256": "0" * 64} for number in range(run_archive.MOST_FILES + 1)}
    refused(write([manifest_of({}, files=many)]), GlasshouseError)


def test_a_newer_run_is_refused(packed: Path) -> None:
    contents = members(packed)
    contents.pop(run_archive.MANIFEST)
    contents["run.json"] = json.dumps({**json.loads(contents["run.json"]), "format": 999}).encode()
    refused(write([manifest_of(contents), *(member(path, data) for path, data in contents.items())]), GlasshouseError)


def test_a_run_that_cannot_be_packed(packed: Path) -> None:
    run = RunFolder(run_folder.root() / "first")
    with lock.hold(run.path, ""), refuses(RunError):
        run_archive.pack(run, Path("other.tar.gz"))
    with refuses(GlasshouseError):
        run_archive.pack(run, packed)
    with refuses(GlasshouseError):
        run_archive.pack(run, Path("run.zip"))
    (run.path / "link").symlink_to("/etc/passwd")
    with refuses(RunError):
        run_archive.pack(run, Path("other.tar.gz"))
    assert not Path("other.tar.gz").exists()
