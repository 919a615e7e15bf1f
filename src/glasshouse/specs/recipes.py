"""Recipes: named specs that ship with the package as TOML, and what a person may give in place of one."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from glasshouse.specs import catalogue, migrations, spec_files
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec

# The recipe of `glasshouse demo`, and of training without a recipe's name.
DEMO = "demo-lm"


@dataclass(frozen=True)
class Recipe:
    """A named spec and one line on what it is for. The tables are as written: a recipe may lack its data."""

    name: str
    about: str
    tables: dict[str, Any]


@cache
def every() -> dict[str, Recipe]:
    """All recipes by name."""
    found = {}
    for entry in sorted((files("glasshouse.specs") / "recipes").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            tables = tomllib.loads(entry.read_text(encoding="utf-8"))
            name = entry.name.removesuffix(".toml")
            found[name] = Recipe(name, tables.pop("about"), tables)
    return found


def tables_of(recipe: str) -> dict[str, Any]:
    """The tables of a recipe by name, or of a spec file by path (anything ending in .toml)."""
    if recipe.endswith(".toml"):
        path = Path(recipe)
        if not path.is_file():
            raise SpecError(
                "unknown-recipe", f"there is no spec file {recipe}; give a recipe's name or the path of a TOML file"
            )
        # A run's own spec.toml was written by the program, perhaps by an older version; other files are a person's.
        kept = path.name == "spec.toml" and (path.parent / "run.json").exists()
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise SpecError("not-toml", f"{recipe} is not TOML: {error}") from None
        tables = spec_files.tables_from_toml(text, recipe, unmarked=1 if kept else migrations.FORMAT)
        tables.pop("about", None)
        return tables
    if recipe not in every():
        close = catalogue.nearest(recipe, every())
        raise SpecError("unknown-recipe", f"there is no recipe {recipe!r}{close} (the recipes are: {', '.join(every())})")
    return every()[recipe].tables


def spec(
    recipe: str, overrides: tuple[str, ...] | list[str] = (), given: dict[str, Any] | None = None, **sections: Any
) -> Spec:
    """The checked spec of a recipe, with overrides as text (`"model.width=64"`) or sections (`model={"width": 64}`).

    Tables that are `given` by something else, such as a run to start from, win over the recipe and yield to the overrides.
    """
    return spec_files.override(spec_files.unchecked(tables_of(recipe), given or {}, sections), overrides)
