"""The lock: one holder at a time, who is named."""

import os

from glasshouse.records import lock
from tests.refusals import refused


def test_a_folder_has_one_lock_holder_at_a_time(tmp_path):
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path, "wait"):
        assert lock.is_held(tmp_path)
        with refused("in-use", str(os.getpid()), "wait"), lock.hold(tmp_path, "wait"):
            pass
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path, "wait"):
        pass
