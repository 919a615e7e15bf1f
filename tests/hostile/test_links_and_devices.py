"""Pipes, devices and links in place of kept files: nothing is waited for, read without an end, or written through a link."""

import json
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import glasshouse
from glasshouse.data import text_files
from glasshouse.launching import batch_script
from glasshouse.llms.answer_journal import AnswerJournal
from glasshouse.records import checkpoint, item_values, lock, metric_log, plain_files, run_entries
from glasshouse.records.run_folder import RunFolder
from glasshouse.serving import run_commands
from glasshouse.specs.errors import DataError, GlasshouseError, RunError
from tests.refusals import refused
from tests.training.small_runs import train_demo

# A sweep of hostile input: what SECURITY.md promises is held in every run by test_containment.py and test_bounds.py.
pytestmark = pytest.mark.slow

LINE = "The state of our union is strong, and we will keep it so for all who come after us.\n"
NOT_PLAIN = "pipe or a device|directory"
STATE = "checkpoints/step-00000012/state.json"
WEIGHTS = "checkpoints/step-00000012/model.safetensors"
READ = ("run.json", "spec.toml", "metrics.jsonl", "tokenizer.json", STATE, WEIGHTS, "baselines.json", ".lock", "report.html")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A finished run. No test may change it."""
    folder = tmp_path_factory.mktemp("original")
    (folder / "text.txt").write_text(LINE * 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        return train_demo(folder / "text.txt", "training.checkpoint_every=12", name="tiny").folder.path


@pytest.fixture
def run(original: Path, runs: Path) -> Path:
    return Path(shutil.copytree(original, runs / "tiny"))


def test_a_file_in_place_of_the_checkpoints(run):
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").write_text("a file")
    with refused(RunError, str(run / "checkpoints")):
        glasshouse.resume("tiny", device="cpu")


def test_damaged_baselines_are_left_out_and_made_again(run, capsys):
    (run / "baselines.json").write_text("{")
    opened = glasshouse.open_run("tiny", "cpu")
    assert opened.baselines is None
    assert opened.baselines is None
    assert capsys.readouterr().err.count("baselines.json cannot be read") == 1
    glasshouse.runs.card("tiny")
    glasshouse.report("tiny")
    assert opened.baselines is not None


@pytest.fixture
def thesis(tmp_path: Path) -> Path:
    """A file that no command may change."""
    path = tmp_path / "thesis.txt"
    path.write_text("three years of work")
    return path


@contextmanager
def within_seconds(limit: int = 20) -> Iterator[None]:
    """Fail a block that waits: an open of a pipe is interrupted."""

    def stop(*_: object) -> None:
        raise TimeoutError("it waits for a pipe or reads without an end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def put(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        # The path of a socket is short.
        here = os.open(path.parent, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)
    else:
        path.symlink_to(kind)


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "folder"])
@pytest.mark.parametrize("name", READ)
def test_a_file_that_is_none_is_neither_waited_for_nor_read_without_end(run, name, kind):
    put(run / name, kind)
    with within_seconds():
        entry = run_entries.RunEntryReader().read(run)
        run_entries.RunEntryReader().curves(run)
        [listed] = glasshouse.runs.runs_overview()
        with suppress(GlasshouseError, OSError):
            glasshouse.open_run("tiny").sample("a", tokens=1)
        with suppress(GlasshouseError, OSError):
            glasshouse.report("tiny")
    if name in ("run.json", "spec.toml", "metrics.jsonl"):
        assert entry.status == listed.status == "damaged"
    assert entry.name == listed.name == "tiny"


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "folder"])
def test_readers_say_what_a_file_is(tmp_path, kind):
    put(path := tmp_path / "x", kind)
    with within_seconds():
        with pytest.raises(OSError, match=NOT_PLAIN):
            plain_files.read_bytes(path)
        with pytest.raises(RunError):
            metric_log.read(path)
        with pytest.raises(DataError):
            list(text_files.read_lines(path))
        with pytest.raises(GlasshouseError):
            glasshouse.runs.unpack(path)
        assert not lock.is_held(tmp_path)


def test_a_file_that_says_it_is_large_is_not_read(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.touch()
    os.truncate(path, 20 * 2**30)
    with within_seconds(), pytest.raises(RunError):
        metric_log.read(path)
    with pytest.raises(OSError, match="more than"):
        plain_files.read_bytes(path)
    path.write_bytes(b"x" * 101)
    with pytest.raises(OSError, match="more than"):
        plain_files.read_bytes(path, most_bytes=100)
    assert len(plain_files.read_bytes(path, most_bytes=101)) == 101


def test_items_in_a_pipe_are_refused(run):
    item_values.file_of(RunFolder(run), "test").parent.mkdir(exist_ok=True)
    put(item_values.file_of(RunFolder(run), "test"), "pipe")
    with within_seconds(), refused(RunError):
        item_values.read(RunFolder(run), "test")


def test_a_checkpoint_behind_a_pipe_falls_back_to_an_earlier_one(run):
    put(run / WEIGHTS, "pipe")
    told: list[str] = []
    with within_seconds():
        found = checkpoint.newest(run / "checkpoints", told.append)
        assert found is not None
        assert found.step < 12
        assert told
        assert glasshouse.open_run("tiny").sample("a", tokens=1)


def _hold(folder: Path) -> None:
    with lock.hold(folder, "wait for it"):
        pass


def _wait(folder: Path) -> None:
    with lock.wait_for(folder / lock.FILE):
        pass


def _attempt(folder: Path) -> None:
    with lock.attempt(folder / lock.FILE):
        pass


def _journal(folder: Path) -> None:
    AnswerJournal(folder / "answers.jsonl", int, str).add(1)


WRITERS = {
    "hold a lock": (lock.FILE, _hold),
    "wait for a lock": (lock.FILE, _wait),
    "attempt a lock": (lock.FILE, _attempt),
    "write a journal": ("answers.jsonl", _journal),
    "log metrics": ("metrics.jsonl", lambda folder: metric_log.append(folder / "metrics.jsonl", {"step": 1})),
    "ask to stop": ("stop", lambda folder: RunFolder(folder).ask_to_stop()),
    "start a command": (run_commands.LOG, lambda folder: run_commands._start("report", folder, folder)),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("act", WRITERS)
def test_nothing_is_written_through_a_link(tmp_path, thesis, act, missing):
    name, write = WRITERS[act]
    (folder := tmp_path / "folder").mkdir()
    if missing:
        thesis.unlink()
    (folder / name).symlink_to(thesis)
    with refused(GlasshouseError, name):
        write(folder)
    assert not thesis.exists() if missing else thesis.read_text() == "three years of work"


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
@pytest.mark.parametrize("act", WRITERS)
def test_what_is_no_file_is_not_written(tmp_path, act, kind):
    name, write = WRITERS[act]
    put(tmp_path / name, kind)
    with within_seconds(), refused(RunError, name):
        write(tmp_path)


ACTS = {
    "resume": lambda: glasshouse.resume("tiny", device="cpu"),
    "rename": lambda: glasshouse.runs.rename_run("tiny", "new"),
    "delete": lambda: glasshouse.runs.delete_runs("tiny"),
}


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
@pytest.mark.parametrize("name", [".lock", "metrics.jsonl", STATE, "checkpoints/step-00000012", "checkpoints/.x.1.tmp"])
@pytest.mark.parametrize("act", ACTS)
def test_nobody_waits_for_what_is_no_file(run, name, kind, act):
    if (run / name).is_dir():
        shutil.rmtree(run / name)
    put(run / name, kind)
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "status": "interrupted"}))
    with within_seconds(), suppress(GlasshouseError):
        ACTS[act]()


@pytest.mark.parametrize(
    "act", [lambda: glasshouse.runs.rename_run("tiny", "new"), lambda: glasshouse.runs.delete_runs("tiny")]
)
def test_a_run_with_a_linked_lock_is_neither_renamed_nor_deleted(run, thesis, act):
    put(run / ".lock", str(thesis))
    with refused(GlasshouseError):
        act()
    assert thesis.read_text() == "three years of work"
    assert run.exists()


@pytest.mark.parametrize("text", ["a\rb", "\x1b[2J", "it's \\ \x07 $HOME", "a\nb\x85c"])
def test_a_batch_script_shows_control_characters_and_bash_reads_them(text):
    import subprocess

    word = batch_script._word(text)
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in word)
    printed = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert printed.decode() == text
