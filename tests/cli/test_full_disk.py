"""A disk that is full or read-only: the error is clear, and training can be resumed when there is space."""

import gc
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, RunError
from tests import needs

from .conftest import STEPS
from .program import (
    call,
    change_facts,
    checkpoints,
    folders,
    losses,
    refused,
    resume,
    train,
    train_on_file,
    weights,
    worked,
)


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runs folder on a file system of its own that holds two checkpoints of the tiny run and not a third."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        needs.skip("root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], check=False)
    if mounted.returncode:
        needs.skip("root")
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(folder))
    yield folder
    gc.collect()  # what an error still refers to may hold files open
    subprocess.run(["umount", folder], check=True)


def make_room(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)


def test_the_disk_is_full_while_training(small_disk: Path, text: Path, finished: Path) -> None:
    refused(train(*STEPS, f"data.files={text}"), RunError)
    run = small_disk / "tiny"
    stands = [path.name for path in checkpoints(run)]
    assert 0 < len(stands) < 4
    assert list((run / "checkpoints").glob(".*")) == []
    worked(call("sample", "tiny", "--tokens", "2"))
    make_room(small_disk)
    worked(resume())
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


@pytest.mark.parametrize("left", [8192, *needs.slow(0)])
def test_the_disk_is_full_from_the_start(small_disk: Path, finished: Path, left: int) -> None:
    run = shutil.copytree(finished, small_disk / "tiny", ignore=shutil.ignore_patterns("step-00000008", "report.html"))
    change_facts(run, status="training", outcome=None, best=None)
    before = weights(run)
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize - left))
    refused(resume(), RunError if left else OSError, "No space left", "tiny")
    assert weights(run) == before
    (small_disk / "ballast").unlink()
    make_room(small_disk)
    worked(resume())
    assert weights(run) == weights(finished)
    assert losses(run) == losses(finished)


def test_no_room_for_a_new_run(small_disk: Path, text: Path) -> None:
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize))
    refused(train_on_file(str(text)), GlasshouseError)
    assert folders(small_disk) == ["ballast"]


@pytest.mark.parametrize("status", ["training", *needs.slow("done")])
def test_a_disk_that_is_read_only(small_disk: Path, finished: Path, status: str) -> None:
    make_room(small_disk)
    run = shutil.copytree(finished, small_disk / "tiny")
    change_facts(run, status=status)
    (run / ".lock").unlink()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "tiny" in worked(call("runs")).out
    worked(call("sample", "tiny", "--tokens", "2"))
    worked(call("evaluate", "tiny"))
    for command in ("report", "resume"):
        refused(call(command, "tiny"), OSError)


@pytest.fixture
def short_files() -> Iterator[Callable[[int], None]]:
    """Sets the largest size that a file may have, which the tests after it do not feel."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_checkpoint_that_cannot_be_written(run: Path, finished: Path, short_files: Callable[[int], None]) -> None:
    shutil.rmtree(checkpoints(run)[-1])
    before = weights(run)
    short_files(30000)
    outcome = resume()
    short_files(resource.RLIM_INFINITY)
    refused(outcome, RunError)
    assert weights(run) == before
    assert list((run / "checkpoints").glob(".*")) == []
    worked(resume())
    assert weights(run) == weights(finished)
