"""Catalogues: every name leads to its class, and a class that cannot be imported is reported."""

from importlib.metadata import EntryPoint

import pytest

from glasshouse.specs import catalogue, recipes
from glasshouse.specs.errors import GlasshouseError, SpecError
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
    with refused(GlasshouseError, "model.norm='layr'", "'layer'"):
        catalogue.find("norm", "layr", "model.norm")


@pytest.mark.parametrize("target", ["no_such_package.part:Part", "glasshouse.version:Part"])
def test_a_part_that_cannot_be_imported_is_reported(monkeypatch, target):
    broken = EntryPoint("broken", target, "glasshouse.norm")
    monkeypatch.setattr(catalogue, "_entries", lambda family: {"broken": broken})
    with refused(SpecError, "model.norm='broken'", target):
        catalogue.find("norm", "broken", "model.norm")


def test_a_broken_part_hides_no_suggestion_for_a_misspelt_setting(monkeypatch, tmp_path):
    (tmp_path / "broken_plug_in.py").write_text("raise RuntimeError('not today')")
    monkeypatch.syspath_prepend(tmp_path)
    entries = catalogue._entries
    broken = {"broken": EntryPoint("broken", "broken_plug_in:Part", "glasshouse.norm")}
    monkeypatch.setattr(catalogue, "_entries", lambda family: {**entries(family), **(broken if family == "norm" else {})})
    assert "layer" in catalogue.loadable("norm")
    assert "broken" not in catalogue.loadable("norm")
    with refused(GlasshouseError, "did you mean 'model.width'"):
        recipes.spec("demo-lm", ["model.widht=64"])
    with refused(SpecError, "model.norm='broken'", "not today"):
        recipes.spec("demo-lm", ["model.norm=broken"])
