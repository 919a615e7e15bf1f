"""TOML from outside: whatever is wrong with it is one kind of error."""

import tomllib
from pathlib import Path

import pytest

from glasshouse.specs import toml_text


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 5000, "a = " + "{b=" * 5000, f"a = {'9' * 5000}", "a = 2000-13-40", "a = null", "a = 1\na = 2", "\0"],
    ids=lambda text: text[:12],
)
def test_every_fault_is_one_error(text):
    with pytest.raises(tomllib.TOMLDecodeError):
        toml_text.parse(text)


def test_a_file_is_read(tmp_path):
    (tmp_path / "a.toml").write_text("a = 'ü'", encoding="utf-8")
    assert toml_text.read(tmp_path / "a.toml") == {"a": "ü"}


def test_a_very_large_file_is_not_read(tmp_path):
    file = tmp_path / "a.toml"
    with open(file, "wb") as sparse:
        sparse.truncate(2**40)
    with pytest.raises(tomllib.TOMLDecodeError, match="bytes"):
        toml_text.read(file)


def test_a_device_is_not_read():
    with pytest.raises(tomllib.TOMLDecodeError):
        toml_text.read(Path("/dev/zero"))
