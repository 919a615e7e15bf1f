"""Atomic files: a file or folder is complete or unchanged, and a failure leaves nothing behind."""

import os

import pytest

from glasshouse.records import atomic_files
from tests.refusals import refused


def names_in(folder):
    return [entry.name for entry in folder.iterdir()]


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
    with refused("wrong-suffix", ".txt", ".html or .svg"):
        atomic_files.check_output(tmp_path / "page.txt", (".html", ".svg"))
    with refused("folder-not-file"):
        atomic_files.check_output(tmp_path)
    with refused("missing-folder", "nowhere"):
        atomic_files.check_output(tmp_path / "nowhere" / "page.html")
