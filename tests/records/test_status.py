"""The status: a name that this version does not know is read as unknown."""

import pytest

from glasshouse.records.status import Status


@pytest.mark.parametrize("status", list(Status), ids=str)
def test_every_status_is_read_back_from_its_name(status):
    assert Status.read(str(status)) is status


@pytest.mark.parametrize("text", ["paused", "", None, 3])
def test_any_other_name_is_unknown(text):
    assert Status.read(text) is Status.UNKNOWN
