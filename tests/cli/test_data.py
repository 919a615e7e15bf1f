"""`glasshouse data`: list, show, and get from a mirror on this machine."""

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests import needs

from .program import (
    TWO_STEPS,
    call,
    folders,
    refused,
    train,
    worked,
)


def test_data() -> None:
    shown = worked(call("data")).out
    for name in ("state-of-the-union", "shakespeare", "wikitext-2"):
        assert name in shown


def test_data_show() -> None:
    shown = worked(call("data", "show", "state-of-the-union")).out
    for words in ("American Presidency Project", "public domain", "train", "validation", "test"):
        assert words in shown


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with nothing in it, and no folder of data sets beside it."""
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a server on this machine gives out; the program is told to fetch from there."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    folder = tmp_path / "mirror"
    (folder / "shakespeare").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("GLASSHOUSE_MIRROR", f"http://127.0.0.1:{server.server_port}/")
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_data_get(mirror: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = needs.data("shakespeare/input.txt")
    shutil.copy(original, mirror / "shakespeare" / "input.txt")
    monkeypatch.delenv("GLASSHOUSE_DATA")
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    assert "no: glasshouse data get shakespeare" in worked(call("data")).out
    got = Path(worked(call("data", "get", "shakespeare")).out.strip())
    assert got.read_bytes() == original.read_bytes()
    assert files_in(tmp_path / "cache") == [got]
    (mirror / "shakespeare" / "input.txt").unlink()
    worked(call("data", "get", "shakespeare"))
    assert "no: glasshouse data get shakespeare" not in worked(call("data")).out
    assert "First Citizen" in worked(call("data", "show", "shakespeare")).out


def test_data_get_refuses_a_wrong_checksum(mirror: Path, empty_cache: Path) -> None:
    (mirror / "shakespeare" / "input.txt").write_text("To be or not")
    refused(call("data", "get", "shakespeare"), "wrong-checksum", "SHA-256", "86c4e6aa9db7", "shakespeare/input.txt")
    assert files_in(empty_cache) == []


def test_data_get_of_a_file_that_the_server_lacks(mirror: Path, empty_cache: Path) -> None:
    refused(call("data", "get", "shakespeare"), "fetch-failed", "shakespeare/input.txt")
    assert files_in(empty_cache) == []


def test_data_get_from_a_dead_server(mirror: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The discard port: nothing listens there.
    monkeypatch.setenv("GLASSHOUSE_MIRROR", "http://127.0.0.1:9")
    refused(call("data", "get", "shakespeare"), "fetch-failed", "http://127.0.0.1:9/")
    assert files_in(empty_cache) == []


@pytest.mark.parametrize("address", ["not-an-address", "http://["])
def test_data_get_from_a_mirror_that_is_no_address(empty_cache: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("GLASSHOUSE_MIRROR", address)
    refused(call("data", "get", "shakespeare"), "fetch-failed", address)
    assert files_in(empty_cache) == []


def test_data_get_of_what_ships_with_the_package() -> None:
    refused(call("data", "get", "state-of-the-union"), "nothing-to-fetch")


def test_a_data_set_that_is_not_here_says_how_to_get_it(runs: Path, empty_cache: Path) -> None:
    remedy = "glasshouse data get shakespeare"
    refused(call("data", "show", "shakespeare"), "data-set-missing", remedy)
    refused(train(*TWO_STEPS, "data.source=shakespeare"), "data-set-missing", remedy)
    assert folders(runs) == []


def test_an_unknown_data_set() -> None:
    for command in ("get", "show"):
        refused(call("data", command, "shakespear"), "unknown-word", "'shakespeare'")
