"""`glasshouse data`: list, show, get from a mirror on this machine, and prepare large texts."""

import json
import shutil
import signal
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from glasshouse.api import corpora
from glasshouse.data.user_files import text as user_text
from glasshouse.specs.errors import DataError, GlasshouseError, SpecError
from glasshouse.tokenizers.safe_boundaries import split_into_blocks
from tests import needs

from .program import (
    TWO_STEPS,
    call,
    finish,
    folders,
    losses,
    refused,
    some_text,
    start,
    train,
    train_on_file,
    wait_until,
    weights,
    worked,
)

SETTINGS = ("--vocabulary", "300")


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
    refused(call("data", "get", "shakespeare"), DataError, "SHA-256", "86c4e6aa9db7", "shakespeare/input.txt")
    assert files_in(empty_cache) == []


def test_data_get_of_a_file_that_the_server_lacks(mirror: Path, empty_cache: Path) -> None:
    refused(call("data", "get", "shakespeare"), GlasshouseError, "shakespeare/input.txt")
    assert files_in(empty_cache) == []


def test_data_get_from_a_dead_server(mirror: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The discard port: nothing listens there.
    monkeypatch.setenv("GLASSHOUSE_MIRROR", "http://127.0.0.1:9")
    refused(call("data", "get", "shakespeare"), GlasshouseError, "http://127.0.0.1:9/")
    assert files_in(empty_cache) == []


@pytest.mark.parametrize("address", ["not-an-address", "http://["])
def test_data_get_from_a_mirror_that_is_no_address(empty_cache: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("GLASSHOUSE_MIRROR", address)
    refused(call("data", "get", "shakespeare"), GlasshouseError, address)
    assert files_in(empty_cache) == []


def test_data_get_of_what_ships_with_the_package() -> None:
    refused(call("data", "get", "state-of-the-union"), DataError)


def test_a_data_set_that_is_not_here_says_how_to_get_it(runs: Path, empty_cache: Path) -> None:
    remedy = "glasshouse data get shakespeare"
    refused(call("data", "show", "shakespeare"), DataError, remedy)
    refused(train(*TWO_STEPS, "data.source=shakespeare"), DataError, remedy)
    assert folders(runs) == []


def test_an_unknown_data_set() -> None:
    for command in ("get", "show"):
        refused(call("data", command, "shakespear"), GlasshouseError, "'shakespeare'")


@pytest.fixture
def corpus(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A text of many parts."""
    monkeypatch.setattr(user_text, "PART_BYTES", 2000)
    monkeypatch.setattr(user_text, "split_into_blocks", lambda chunks: split_into_blocks(chunks, size=100))
    (tmp_path / "corpus.txt").write_text(some_text())
    return tmp_path / "corpus.txt"


def shards_in(folder: Path) -> dict[str, bytes]:
    names = [f"{split}.{suffix}" for split in ("train", "validation", "test") for suffix in ("tokens", "starts", "json")]
    return {name: (folder / name).read_bytes() for name in [*names, "tokenizer.json"]}


def prepare(corpus: Path, *options: str) -> dict[str, bytes]:
    """The shards that the command makes."""
    output = corpus.parent / "out"
    worked(call("data", "prepare", str(corpus), *SETTINGS, "--output", str(output), *options))
    assert folders(corpus.parent).count("out.parts") == 0
    return shards_in(output)


@pytest.mark.slow
def test_training_finds_what_was_prepared(corpus: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the cache and from a folder: the same losses and weights as without preparing, and nothing is encoded again."""
    worked(train_on_file(str(corpus)))
    expected = losses(runs / "tiny"), weights(runs / "tiny")
    shutil.rmtree(corpus.parent / "cache")
    shown = worked(call("data", "prepare", str(corpus), *SETTINGS)).out
    assert str(corpus.parent / "cache" / "shards") in shown
    prepare(corpus)
    monkeypatch.setattr("glasshouse.data.shards.ShardWriter.add", None)
    for name in (corpus, corpus.parent / "out"):
        shutil.rmtree(runs / "tiny")
        worked(train_on_file(str(name)))
        assert (losses(runs / "tiny"), weights(runs / "tiny")) == expected
    (corpus.parent / "cache").rename(corpus.parent / "gone")
    corpus.rename(corpus.with_suffix(".gone"))
    shutil.rmtree(runs / "tiny")
    worked(train_on_file(str(corpus.parent / "out")))
    assert (losses(runs / "tiny"), weights(runs / "tiny")) == expected


def test_prepare_with_two_processes_gives_the_same_files(corpus: Path) -> None:
    one = prepare(corpus)
    manifest = json.loads((corpus.parent / "out" / "manifest.json").read_text())
    shutil.rmtree(corpus.parent / "out")
    assert prepare(corpus, "--jobs", "2") == one
    assert json.loads((corpus.parent / "out" / "manifest.json").read_text()) == manifest
    assert len(manifest["parts"]) > 5


def test_several_commands_share_the_work(corpus: Path) -> None:
    """As on several machines: two of the same command at the same time, and one more after them."""
    expected = prepare(corpus)
    shutil.rmtree(corpus.parent / "out")
    arguments = ("data", "prepare", str(corpus), *SETTINGS, "--output", str(corpus.parent / "out"))
    processes = [start(*arguments) for _ in range(2)]
    for process in processes:
        worked(finish(process))
    assert shards_in(corpus.parent / "out") == expected
    assert "train" in worked(call(*arguments)).out


@pytest.mark.slow
def test_a_killed_worker_loses_only_its_part(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_text, "PART_BYTES", 100)
    expected = prepare(corpus)
    shutil.rmtree(corpus.parent / "out")
    output = corpus.parent / "out"
    planned = corpora.plan_data([str(corpus)], vocabulary=300, output=output)
    process = start("data", "prepare", str(corpus), *SETTINGS, "--output", str(output))
    wait_until(lambda: len(planned.missing()) < len(planned.parts) - 5, process)
    process.send_signal(signal.SIGKILL)
    finish(process)
    done = {path.name: path.stat().st_ino for path in planned.work_folder.glob("part-*")}
    assert 0 < len(done) < len(planned.parts)
    with monkeypatch.context() as patched:
        patched.setattr(planned, "_join", lambda: None)
        patched.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
        planned.finish()
    assert done.items() <= {path.name: path.stat().st_ino for path in planned.work_folder.glob("part-*")}.items()
    assert prepare(corpus) == expected


def test_prepare_repairs_what_was_damaged(corpus: Path) -> None:
    expected = prepare(corpus)
    with open(corpus.parent / "out" / "train.tokens", "r+b") as file:
        file.write(b"\xff\xff")
    arguments = ("data", "prepare", str(corpus), *SETTINGS, "--output", str(corpus.parent / "out"))
    assert "train split was damaged" in worked(call(*arguments)).out
    assert shards_in(corpus.parent / "out") == expected
    assert "damaged" not in worked(call(*arguments)).out


def test_prepare_for_a_masked_model(corpus: Path) -> None:
    worked(
        call("data", "prepare", str(corpus), *SETTINGS, "--recipe", "masked-model", "--output", str(corpus.parent / "out"))
    )
    assert "<|mask|>" in (corpus.parent / "out" / "tokenizer.json").read_text()
    refused(call("data", "prepare", str(corpus), "--recipe", "classifier"), GlasshouseError, "label")


def test_bad_input_of_prepare(corpus: Path) -> None:
    folder = corpus.parent

    def prepare_with(*options: str, file: Path = corpus) -> Any:
        return call("data", "prepare", str(file), *SETTINGS, *options)

    refused(prepare_with(file=folder / "none.txt"), GlasshouseError, "none.txt")
    (folder / "empty.txt").write_text("")
    refused(prepare_with(file=folder / "empty.txt"), GlasshouseError, "empty.txt")
    (folder / "empty.jsonl").write_text('{"text": ""}\n')
    refused(prepare_with(file=folder / "empty.jsonl"), DataError, "empty.jsonl")
    refused(prepare_with("--jobs", "0"), GlasshouseError, "--jobs=0")
    refused(prepare_with("--validation", "0.9"), GlasshouseError, "validation=0.9")
    refused(prepare_with("--tokenizer", "bite-pair"), GlasshouseError, "byte-pair")
    refused(prepare_with("--tokenizer", "none.json"), GlasshouseError, "none.json")
    refused(prepare_with("--recipe", "language-modell"), SpecError, "language-model")
    refused(prepare_with("--output", str(corpus)), GlasshouseError, str(corpus))
    refused(prepare_with("--output", str(folder)), GlasshouseError, str(folder))
    refused(prepare_with("--output", str(corpus / "out")), GlasshouseError, str(corpus / "out"))
    refused(prepare_with("--output", "/proc/out"), GlasshouseError, "/proc/out")
    worked(prepare_with("--output", str(folder / "out")))
    refused(prepare_with("--output", str(folder / "out"), "--tokenizer", "characters"), DataError, "tokenizer")
    refused(prepare_with("--output", str(folder / "out"), "--test", "0.2"), DataError, "shares")


def test_look_shows_a_file_and_what_a_run_would_cost(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("label,text\n" + "".join(f"{'ab'[i % 2]},text number {i}\n" for i in range(60)))
    said = worked(call("data", "look", str(tmp_path / "a.csv"), "data.label=label", "--device", "cpu")).out
    for words in ("2 classes", "train with", "glasshouse train classifier", "parameters and takes", "Latin 100%"):
        assert words in said
    (tmp_path / "b.tsv").write_text("".join(f"same\ttext number {index}\n" for index in range(30)))
    outcome = call("data", "look", str(tmp_path / "b.tsv"), "--recipe", "classifier")
    refused(outcome, DataError)
    assert "1 class" in outcome.out
