"""Atomic files: a file or folder is complete or unchanged, and a failure leaves nothing behind."""

import errno
import os
import signal

import pytest

from glasshouse.records import atomic_files
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


def names_in(folder):
    return [entry.name for entry in folder.iterdir()]


def test_what_cannot_be_deleted_is_told(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "file").write_text("content")

    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(PermissionError):
        atomic_files.delete_folder(tmp_path / "run")


def test_a_file_is_replaced_completely(tmp_path):
    path = tmp_path / "a.txt"
    atomic_files.write_text(path, "one")
    atomic_files.write_text(path, "two")
    assert path.read_text() == "two"
    assert names_in(tmp_path) == ["a.txt"]


def test_a_failure_while_writing_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "a.txt"
    atomic_files.write_text(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_files.replacing(path) as temporary:
        temporary.write_text("half of the n")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


def test_an_error_of_the_disk_leaves_the_old_file_whole_and_names_it(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    atomic_files.write_text(path, "old")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left") as error:
        atomic_files.write_json(path, {"new": True})
    assert error.value.filename == str(path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("content", ["nothing", "file", "folder", "pipe", "link"])
def test_anything_is_deleted_without_being_opened(tmp_path, content):
    (kept := tmp_path / "kept").mkdir()
    path = tmp_path / "x"
    if content == "file":
        path.write_text("...")
    elif content == "folder":
        (path / "inner").mkdir(parents=True)
        os.mkfifo(path / "inner" / "pipe")
        (path / "link").symlink_to(kept)
    elif content == "pipe":
        os.mkfifo(path)
    elif content == "link":
        path.symlink_to(kept)
    atomic_files.delete(path)
    assert names_in(tmp_path) == ["kept"]


def test_a_folder_disappears_if_its_block_fails(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic_files.folder(tmp_path / "x") as temporary:
        (temporary / "half").write_text("...")
        raise ZeroDivisionError
    assert names_in(tmp_path) == []


def test_a_folder_that_exists_is_not_replaced(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "old").write_text("...")
    with pytest.raises(FileExistsError), atomic_files.folder(tmp_path / "x") as temporary:
        (temporary / "new").write_text("...")
    assert names_in(tmp_path) == ["x"]
    assert names_in(tmp_path / "x") == ["old"]


def test_an_output_file_that_cannot_be_written_is_refused(tmp_path):
    atomic_files.check_output(tmp_path / "page.HTML", (".html", ".svg"))
    with refused(GlasshouseError, ".txt", ".html or .svg"):
        atomic_files.check_output(tmp_path / "page.txt", (".html", ".svg"))
    with refused(GlasshouseError):
        atomic_files.check_output(tmp_path)
    with refused(GlasshouseError, "nowhere"):
        atomic_files.check_output(tmp_path / "nowhere" / "page.html")


def kill_while_writing(path, is_folder):
    """A process that is killed in the middle of writing a file or folder."""
    if not (child := os.fork()):
        with (atomic_files.folder if is_folder else atomic_files.replacing)(path) as temporary:
            (temporary / "half" if is_folder else temporary).write_text("half of th")
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_a_killed_process_left_is_deleted_by_the_next(tmp_path, is_folder):
    kill_while_writing(tmp_path / "a.txt", is_folder)
    kill_while_writing(tmp_path / "b.txt", is_folder)
    (tmp_path / ".a.txt.tmp").write_text("somebody else's")
    assert len(names_in(tmp_path)) == 3
    atomic_files.write_text(tmp_path / "a.txt", "whole")
    left = set(names_in(tmp_path))
    assert {"a.txt", ".a.txt.tmp"} < left
    assert [name[:6] for name in left - {"a.txt", ".a.txt.tmp"}] == [".b.txt"]


@pytest.mark.parametrize("writer", [atomic_files.replacing, atomic_files.folder])
def test_what_a_living_process_writes_is_left_alone(tmp_path, writer, monkeypatch):
    with writer(tmp_path / "a.txt") as temporary:
        monkeypatch.setattr(os, "getpid", lambda: 1)
        atomic_files._delete_leftovers(tmp_path / "a.txt")
        assert temporary.exists()
        monkeypatch.undo()
        if writer is atomic_files.replacing:
            temporary.write_text("whole")
    assert names_in(tmp_path) == ["a.txt"]
