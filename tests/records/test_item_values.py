"""The values of a run item by item: read as they were written, absent if nothing was, and refused if damaged."""

from pathlib import Path

import numpy as np

from glasshouse.records import item_values
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import RunError
from tests.refusals import refused


def test_values_are_read_as_they_were_written(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert item_values.read(run, "test") == {}
    item_values.write(run, "test", {"loss": np.array([0.5, 1.5]), "truth": np.array([1, 0])})
    stored = item_values.read(run, "test")
    assert {name: values.tolist() for name, values in stored.items()} == {"loss": [0.5, 1.5], "truth": [1, 0]}
    assert (tmp_path / "item_values" / "test.npz").is_file()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    item_values.write(run, "test", {"loss": np.array([0.5])})
    file = item_values.file_of(run, "test")
    file.write_bytes(file.read_bytes()[:20])
    with refused(RunError, str(file)):
        item_values.read(run, "test")
