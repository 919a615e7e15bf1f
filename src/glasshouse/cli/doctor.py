"""`glasshouse doctor`: describe this machine, measure its speed, and predict the cost of a recipe on it."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overrides

EXAMPLES = "Examples: glasshouse doctor · glasshouse doctor demo-lm model.width=512"


def doctor(
    recipe: Annotated[str | None, typer.Argument(help="A recipe whose cost to predict.")] = None,
    overrides: Overrides = None,
    device: Device = "auto",
) -> None:
    """Describe this machine and measure its speed in matrix products. With RECIPE, predict memory, time and FLOPs of it."""
    import glasshouse
    from glasshouse.cli.plan_output import print_plan
    from glasshouse.cli.tables import show
    from glasshouse.formatting import flops

    diagnosis = glasshouse.doctor(device)
    rates = [(f"matrix products, {name}", f"{flops(rate)}/s") for name, rate in diagnosis.rates.items()]
    show(("this machine", ""), [*diagnosis.facts.items(), *rates])
    if recipe:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
