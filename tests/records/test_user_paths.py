"""Paths as a person writes them: homes of users that exist, that do not exist, and of a user that has none."""

import os
import pwd
from pathlib import Path

import pytest

from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.launching import cluster_settings
from glasshouse.records import user_paths
from glasshouse.specs.errors import DataError
from tests.refusals import refused


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_paths.expand("~/mine.txt") == tmp_path / "mine.txt"
    assert user_paths.expand("mine~.txt") == Path("mine~.txt")


@pytest.mark.parametrize("name", ["~nobody-has-this-name.txt", "~nobody-has-this-name/a.txt"])
def test_the_name_of_an_unknown_user_stays_as_it_is(name):
    assert user_paths.expand(name) == Path(name)


def test_a_user_without_a_home_is_told_which_variable_helps(monkeypatch):
    def unknown(_: int) -> None:
        raise KeyError

    for variable in ("HOME", "GLASSHOUSE_CACHE", "GLASSHOUSE_CLUSTER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert user_paths.home() is None
    with refused(DataError, "GLASSHOUSE_CACHE"):
        cache_folder()
    assert cluster_settings.find_file() is None
    monkeypatch.setenv("GLASSHOUSE_CACHE", os.fspath(Path("cache").absolute()))
    assert cache_folder() == Path("cache").absolute()
