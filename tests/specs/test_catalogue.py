"""Catalogues: every name leads to its class, and a class that cannot be imported is reported."""

from importlib.metadata import EntryPoint

import pytest

from glasshouse.specs import catalogue
from tests.refusals import refused


@pytest.mark.parametrize(
    "family", ["task", "tokenizer", "model", "head", "attention", "embedding", "position", "norm", "feed_forward", "cell"]
)
def test_every_name_of_a_family_can_be_found(family):
    names = catalogue.names(family)
    assert names == sorted(names)
    assert names
    for name in names:
        assert isinstance(catalogue.find(family, name), type)


def test_an_unknown_name_gets_a_suggestion():
    with refused("unknown-word", "model.norm='layr'", "'layer'"):
        catalogue.find("norm", "layr", "model.norm")


@pytest.mark.parametrize("target", ["no_such_package.part:Part", "glasshouse.version:Part"])
def test_a_part_that_cannot_be_imported_is_reported(monkeypatch, target):
    broken = EntryPoint("broken", target, "glasshouse.norm")
    monkeypatch.setattr(catalogue, "_entries", lambda family: {"broken": broken})
    with refused("part-cannot-be-loaded", "model.norm='broken'", target):
        catalogue.find("norm", "broken", "model.norm")
