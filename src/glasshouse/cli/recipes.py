"""`glasshouse recipes`: the named specs that ship with the package."""

from typing import Annotated

import typer

EXAMPLES = "Examples: glasshouse recipes · glasshouse recipes demo-lm"


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show this recipe's whole spec, field by field.")] = None,
) -> None:
    """List the recipes, a line each; with a name, show that one's fields and what they mean."""
    import glasshouse
    from glasshouse.cli.tables import console, show

    if name is None:
        show(("recipe", "what it is"), [(recipe.name, recipe.about) for recipe in glasshouse.recipes()])
        return
    rows = []
    for field in glasshouse.recipe_fields(name):
        value = "[" + ", ".join(field.value) + "]" if isinstance(field.value, tuple) else str(field.value)
        rows.append((field.name, value, f"{field.about}: {', '.join(field.words)}" if field.words else field.about))
    show(("field", "value", "meaning"), rows)
    console.print(f"Change any of them: glasshouse train {name} model.width=64", markup=False)
