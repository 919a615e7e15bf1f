"""`glasshouse recipes`: list the recipes, the named specs that are part of the package."""

from typing import Annotated

import typer

EXAMPLES = "Examples: glasshouse recipes · glasshouse recipes demo-lm"


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show every field of this recipe's spec.")] = None,
) -> None:
    """List the recipes. With NAME, show the fields of that recipe with their values and meanings."""
    from glasshouse.api import listings
    from glasshouse.cli.tables import console, show

    if name is None:
        show(("recipe", "description"), [(recipe.name, recipe.about) for recipe in listings.recipes()])
        return
    rows = []
    for field in listings.recipe_fields(name):
        value = "[" + ", ".join(field.value) + "]" if isinstance(field.value, tuple) else str(field.value)
        rows.append((field.name, value, f"{field.about}: {', '.join(field.words)}" if field.words else field.about))
    show(("field", "value", "meaning"), rows)
    console.print(f"Any field can be changed: glasshouse train {name} model.width=64", markup=False)
