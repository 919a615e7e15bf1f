"""Recipes: each is a valid spec with a description, and an unknown name gets a suggestion."""

import pytest

from glasshouse.specs import recipes, spec_files
from glasshouse.specs.errors import SpecError
from tests.refusals import refused


@pytest.mark.parametrize("name", recipes.all_recipes())
def test_every_recipe_is_a_valid_spec(name):
    data = {} if "source" in recipes.tables_of(name)["data"] else {"files": ["mine.txt"]}
    spec = recipes.spec(name, data=data)
    assert spec_files.from_toml(spec_files.to_toml(spec), "spec.toml") == spec
    assert recipes.all_recipes()[name].about


def test_an_unknown_recipe_gets_a_suggestion():
    with refused(SpecError, "'demo-lm'"):
        recipes.spec("demo-ml")
    with refused(SpecError, "missing.toml"):
        recipes.spec("missing.toml")


def test_overrides_win_over_sections_and_inherited_tables(tmp_path):
    (tmp_path / "mine.toml").write_text(
        '[data]\nsource = "shakespeare"\n[model]\nwidth = 8\nheads = 2\n[training]\nsteps = 3\n'
    )
    inherited = {"model": {"width": 16, "layers": 5, "dropout": 0.1}}
    spec = recipes.spec(str(tmp_path / "mine.toml"), ["model.width=64"], inherited, model={"layers": 6, "width": 32})
    assert (spec.model.width, spec.model.layers, spec.model.dropout, spec.model.heads) == (64, 6, 0.1, 2)
