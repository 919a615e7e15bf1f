"""The lock: one holder at a time, who is named."""

import errno
import fcntl
import os
import threading
import time

from glasshouse.records import lock
from glasshouse.specs.errors import RunError
from tests.refusals import refused


def test_a_folder_has_one_lock_holder_at_a_time(tmp_path):
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path, "wait"):
        assert lock.is_held(tmp_path)
        with refused(RunError, str(os.getpid()), "wait"), lock.hold(tmp_path, "wait"):
            pass
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path, "wait"):
        pass


def test_a_look_at_the_wrong_moment_refuses_nobody(tmp_path):
    with lock.hold(tmp_path, "wait"):
        pass
    with open(tmp_path / lock.FILE, "rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        thread = threading.Timer(lock.LOOK_SECONDS / 3, looking.close)
        thread.start()
        with lock.hold(tmp_path, "wait"):
            assert looking.closed
        thread.join()


def test_a_lock_that_is_only_tried(tmp_path):
    with lock.attempt(tmp_path / "a.lock") as first, lock.attempt(tmp_path / "a.lock") as second:
        assert (first, second) == (True, False)
    with lock.attempt(tmp_path / "a.lock") as again:
        assert again


def test_a_lock_that_waits(tmp_path):
    order = []

    def second() -> None:
        with lock.wait_for(tmp_path / "a.lock"):
            order.append("second")

    thread = threading.Thread(target=second)
    with lock.wait_for(tmp_path / "a.lock"):
        thread.start()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def no_locks(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with lock.attempt(tmp_path / "a.lock") as held, lock.wait_for(tmp_path / "a.lock"):
        assert held
    with lock.hold(tmp_path, "wait"):
        pass
