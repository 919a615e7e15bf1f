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
            help="Time steps of RECIPE in each number format and on several numbers of threads, and keep the result for "
            "training.precision=auto, training.threads=0 and replicas. Without RECIPE, measure everything kept again.",
        ),
    ] = False,
    device: Device = "auto",
) -> None:
    """Describe this machine and measure its speed in matrix products. With RECIPE, predict memory, time and FLOPs of it.

    With --measure, training chooses number format, threads and replicas by what was measured, on this machine and for steps
    of this shape. Otherwise a rule chooses them, which the table shows.
    """
    import glasshouse
    from glasshouse.api import machine
    from glasshouse.cli.plan_output import print_measurement, print_plan
    from glasshouse.cli.tables import show
    from glasshouse.formatting import flops

    if measure:
        for measurement in machine.measure_steps(recipe or "", *(overrides or ()), device=device):
            print_measurement(measurement)
        return
    diagnosis = machine.doctor(device)
    rates = [(f"matrix products, {name}", f"{flops(rate)}/s") for name, rate in diagnosis.rates.items()]
    kept = [("kept measurement", f"{' '.join(one.words)}: {one.date}") for one in diagnosis.measurements]
    show(("this machine", ""), [*diagnosis.facts.items(), *rates, *kept])
    if recipe:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
