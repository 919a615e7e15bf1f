"""`glasshouse recipes`: the named specs that ship with the package."""

from typing import Annotated

import typer

EXAMPLES = "Examples: glasshouse recipes · glasshouse recipes demo-lm"


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show this recipe's whole spec, field by field.")] = None,
) -> None:
    """List the recipes, a line each; with a name, show that one's fields and what they mean."""
    from glasshouse.cli.tables import console, show
    from glasshouse.specs import catalogue, declared, recipes, spec_files
    from glasshouse.specs.spec import SECTIONS

    if name is None:
        show(("recipe", "what it is"), [(recipe.name, recipe.about) for recipe in recipes.every().values()])
        return
    spec = spec_files.unchecked(recipes.tables_of(name))
    rows = [("task", spec.task, "what is asked of the model")]
    for section in SECTIONS:
        for field, (_, rule, _) in declared.fields_of(spec, section).items():
            value = declared.value_of(spec, f"{section}.{field}")
            shown = "[" + ", ".join(value) + "]" if isinstance(value, tuple) else str(value)
            words = rule.choices or (catalogue.names(rule.family) if rule.family else ())
            rows.append((f"{section}.{field}", shown, f"{rule.about}: {', '.join(words)}" if words else rule.about))
    show(("field", "value", "meaning"), rows)
    console.print(f"Change any of them: glasshouse train {name} model.width=64", markup=False)
