"""Summaries of large files are remembered until the file changes."""

import os

import pytest

from glasshouse.data import file_summaries, text_files
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.refusals import refused


@pytest.fixture
def readings(tmp_path, monkeypatch):
    """The files that were read, in order. Every file is large enough, and old enough, to be remembered."""
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_summaries, "REMEMBERED_BYTES", 1)
    monkeypatch.setattr(file_summaries, "SETTLED_SECONDS", -1.0)
    read = []
    summarise = text_files.summarise

    def recorded(path, **how):
        read.append(path.name)
        return summarise(path)

    monkeypatch.setattr(text_files, "summarise", recorded)
    return read


def test_a_file_is_read_once(tmp_path, readings):
    path = tmp_path / "a.txt"
    path.write_text("some text")
    first = file_summaries.summarise(path)
    assert file_summaries.summarise(path) == first
    assert readings == ["a.txt"]
    (tmp_path / "b.txt").write_text("some text")
    assert file_summaries.summarise(tmp_path / "b.txt") == first
    assert readings == ["a.txt", "b.txt"]


def test_a_changed_file_is_read_again(tmp_path, readings):
    path = tmp_path / "a.txt"
    path.write_text("some text")
    first = file_summaries.summarise(path)
    times = os.stat(path)
    path.write_text("same size")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # the time of the last change of its state differs
    assert file_summaries.summarise(path) != first
    assert len(readings) == 2


def test_a_file_that_has_just_changed_is_not_remembered(tmp_path, readings, monkeypatch):
    monkeypatch.setattr(file_summaries, "SETTLED_SECONDS", 60.0)
    (tmp_path / "a.txt").write_text("some text")
    for _ in range(2):
        file_summaries.summarise(tmp_path / "a.txt")
    assert len(readings) == 2


def test_a_damaged_memory_is_made_again(tmp_path, readings):
    path = tmp_path / "a.txt"
    path.write_text("some text")
    first = file_summaries.summarise(path)
    for kept in (tmp_path / "cache" / "summaries").glob("*.json"):
        kept.write_text('{"state": ')
    assert file_summaries.summarise(path) == first
    assert len(readings) == 2


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path, readings, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "file" / "cache"))
    assert file_summaries.summarise(tmp_path / "file").bytes == 10


def test_bad_files_are_refused(tmp_path, readings):
    with refused(GlasshouseError, "none.txt"):
        file_summaries.summarise(tmp_path / "none.txt")
    with refused(GlasshouseError, str(tmp_path)):
        file_summaries.summarise(tmp_path)
    (tmp_path / "binary").write_bytes(b"a\0b")
    with refused(DataError, "binary"):
        file_summaries.summarise(tmp_path / "binary")
