"""`glasshouse doctor`: what this machine is, what it gives, and what a recipe would cost on it."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overrides

EXAMPLES = "Examples: glasshouse doctor · glasshouse doctor demo-lm model.width=512"


def doctor(
    recipe: Annotated[str | None, typer.Argument(help="Also plan this recipe.")] = None,
    overrides: Overrides = None,
    device: Device = "auto",
) -> None:
    """Look at this machine and measure its matrix rate; for a recipe, predict memory, time and FLOPs."""
    import glasshouse
    from glasshouse.cli.cost import print_plan
    from glasshouse.cli.tables import show
    from glasshouse.formatting import flops

    diagnosis = glasshouse.doctor(device)
    rates = [(f"matrix products, {name}", f"{flops(rate)}/s") for name, rate in diagnosis.rates.items()]
    show(("this machine", ""), [*diagnosis.facts.items(), *rates])
    if recipe:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
