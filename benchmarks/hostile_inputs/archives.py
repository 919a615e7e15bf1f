"""Damaged packed runs: bytes, headers of the tar, values of the list of files."""

import gzip
import hashlib
import io
import json
import random
import tarfile

from . import damage
from .trying import Kind, Place


def prepare(rng: random.Random, number: int, place: Place) -> list[str]:
    """A damaged packed run, then `unpack`."""
    place.take("lm.tar.gz")
    faults = (damage.damaged_bytes, _inner_bytes, _manifest, _members, _members, _signed)
    place.rewrite("lm.tar.gz", rng, faults[number % len(faults)])
    return ["unpack", "lm.tar.gz", *rng.choice(([], [], ["--name", damage.wild_text(rng)], ["--max-bytes", "100000"]))]


def _inner_bytes(rng: random.Random, data: bytes) -> bytes:
    return gzip.compress(damage.damaged_bytes(rng, gzip.decompress(data)))


def _read(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {member.name: tar.extractfile(member) for member in tar.getmembers()}
        return {name: file.read() for name, file in files.items() if file}


def _write(files: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    written = io.BytesIO()
    for header, content in files:
        try:
            block = header.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")
        except (ValueError, UnicodeError):
            continue
        written.write(block + content + bytes(-len(content) % tarfile.BLOCKSIZE))
    return gzip.compress(written.getvalue() + bytes(1024))


def _header(name: str, content: bytes) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size = len(content)
    return header


def _manifest(rng: random.Random, data: bytes) -> bytes:
    """The list of files altered."""
    files = _read(data)
    files["manifest.json"] = damage.damaged_json(rng, files["manifest.json"])
    return _write([(_header(name, content), content) for name, content in files.items()])


def _members(rng: random.Random, data: bytes) -> bytes:
    """A member with another name, type, size, link or mode."""
    files = [(_header(name, content), content) for name, content in _read(data).items()]
    header, content = rng.choice(files)
    fault = rng.randrange(6)
    if fault == 0:
        header.name = damage.wild_text(rng).replace("\0", "")[:99] or "x"
    elif fault == 1:
        header.type = rng.choice(
            (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"x", b"\xff")
        )
        header.linkname = rng.choice(damage.PATHS).replace("\0", "")
    elif fault == 2:
        header.size = rng.choice((0, 1, len(content) * 2, 2**33, 2**62))
    elif fault == 3:
        files.append((header, content))
    elif fault == 4:
        files.remove((header, content))
    else:
        rng.shuffle(files)
    return _write(files)


def _signed(rng: random.Random, data: bytes) -> bytes:
    """A damaged file of the run, or one more, with a digest that fits."""
    files = _read(data)
    name = rng.choice(sorted(files))
    if name != "manifest.json":
        files[name] = damage.damaged_like(rng, name, files[name])
    if rng.random() < 0.4:
        files[damage.wild_text(rng).replace("\0", "")[:90] or "x"] = b"content"
    manifest = json.loads(files.pop("manifest.json"))
    manifest["files"] = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    }
    files = {"manifest.json": json.dumps(manifest).encode(), **files}
    return _write([(_header(name, content), content) for name, content in files.items()])


KINDS = (Kind("packed runs", 6, prepare),)
