"""Recipes: named specs that ship with the package as TOML files. The path of a TOML file can be used instead of a name."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from glasshouse.specs import catalogue, spec_files, toml_text
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec

# The recipe of `glasshouse demo`, and the default recipe of training.
DEMO = "demo-lm"


@dataclass(frozen=True)
class Recipe:
    """A named spec and one line about its purpose. The tables are not checked: a recipe may leave the data to the user."""

    name: str
    about: str
    tables: dict[str, Any]


@cache
def all_recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    recipes = {}
    for entry in sorted((files("glasshouse.specs") / "recipes").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            tables = tomllib.loads(entry.read_text(encoding="utf-8"))
            name = entry.name.removesuffix(".toml")
            recipes[name] = Recipe(name, tables.pop("about"), tables)
    return recipes


def tables_of(recipe: str) -> dict[str, Any]:
    """The tables of a recipe (by name) or of a spec file (by a path that ends in .toml)."""
    if not isinstance(recipe, str):
        raise SpecError(f"a recipe is named by a text, and {recipe!r:.100} is none")
    if recipe.endswith(".toml"):
        path = Path(recipe)
        if not path.is_file():
            raise SpecError(f"there is no spec file {recipe}; use a recipe's name or the path of a TOML file")
        try:
            text = toml_text.read_text(path)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SpecError(f"{recipe} is not TOML: {error}; use a TOML file in UTF-8") from None
        tables = spec_files.tables_from_toml(text, recipe)
        tables.pop("about", None)
        return tables
    if recipe not in all_recipes():
        hint, known = catalogue.did_you_mean(recipe, all_recipes()), ", ".join(all_recipes())
        raise SpecError(f"there is no recipe {recipe!r}{hint} (the recipes are: {known})")
    return all_recipes()[recipe].tables


def spec(
    recipe: str, overrides: tuple[str, ...] | list[str] = (), inherited: dict[str, Any] | None = None, **sections: Any
) -> Spec:
    """The checked spec of a recipe, with overrides as text (`"model.width=64"`) or sections (`model={"width": 64}`).

    `inherited` holds tables from elsewhere, such as the run that training starts from. They replace fields of the recipe;
    overrides and sections take precedence over both.
    """
    return spec_files.override(spec_files.unchecked(tables_of(recipe), inherited or {}, sections), overrides)
