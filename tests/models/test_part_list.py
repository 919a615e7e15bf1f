"""The list of parts: the name that it shows can be imported."""

from importlib import import_module

import pytest

from glasshouse.models import part_list


@pytest.mark.parametrize("family", part_list.FAMILIES)
def test_a_part_is_imported_by_the_name_that_the_list_shows(family: str) -> None:
    for entry in part_list.parts_of(family):
        package, _, name = entry.name.rpartition(".")
        assert isinstance(getattr(import_module(package), name), type)
