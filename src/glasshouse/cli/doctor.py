"""`glasshouse doctor`: describe this machine, measure its speed, and predict the cost of a recipe on it."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overrides

EXAMPLES = "Examples: glasshouse doctor · glasshouse doctor demo-lm model.width=512 · glasshouse doctor demo-lm --measure"


def doctor(
    recipe: Annotated[str | None, typer.Argument(help="A recipe whose cost to predict.")] = None,
    overrides: Overrides = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Time steps of RECIPE, or of demo-lm, in each number format and on several numbers of threads, and "
            "without what makes them fast here.",
        ),
    ] = False,
    device: Device = "auto",
) -> None:
    """Describe this machine and measure its speed in matrix products. With RECIPE, predict memory, time and FLOPs of it.

    A rule chooses number format, threads and replicas, which the table shows. With --measure you see whether another format
    or number of threads is faster for a recipe.
    """
    import glasshouse
    from glasshouse.api import machine
    from glasshouse.cli.plan_output import print_measurement, print_plan
    from glasshouse.cli.tables import show

    if measure:
        words = [recipe or machine.DEMO, *(overrides or ())]
        print_measurement(machine.measure_steps(*words, device=device), " ".join(words))
        return
    show(("this machine", ""), [*machine.doctor(device).items()])
    if recipe:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
