"""Limits on what is read: defaults, names and how they are raised. Real files are in tests/hostile/test_streams.py."""

from pathlib import Path

import pytest

from glasshouse.data.read_limits import FREE_EXPANSION, LARGEST, ReadLimits
from glasshouse.specs.errors import GlasshouseError, LimitExceeded
from tests.refusals import refused


def test_small_files_may_expand_freely():
    limits = ReadLimits(expansion=10)
    limits.check_expansion(Path("a.gz"), 1, FREE_EXPANSION)
    limits.check_expansion(Path("a.gz"), 10**9, 10**10)
    with refused(LimitExceeded, "a.gz", "expansion=100"):
        limits.check_expansion(Path("a.gz"), 1000, FREE_EXPANSION + 10_001)


def test_a_message_names_no_remedy_that_is_out_of_range():
    limits = ReadLimits(columns=LARGEST["columns"])
    with pytest.raises(LimitExceeded) as caught:
        limits.check("columns", LARGEST["columns"] + 1, Path("a.csv"))
    assert "data.limits" not in str(caught.value)


def test_rows_are_counted_as_they_are_kept():
    taken = []
    with refused(GlasshouseError, "a.csv"):
        for row in ReadLimits(table=1).kept((("x" * 1000,) for _ in range(10**6)), Path("a.csv")):
            taken.append(row)
    assert 500 < len(taken) < 1000
