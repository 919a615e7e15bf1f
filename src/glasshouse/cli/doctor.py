"""`glasshouse doctor`: describe this machine, measure its speed, and predict the cost of a recipe on it."""

from typing import TYPE_CHECKING, Annotated

import glasshouse
from glasshouse.cli.options import Device, Overrides, argument, option
from glasshouse.cli.tables import console, show
from glasshouse.formatting import count, duration, flops, size

if TYPE_CHECKING:
    from glasshouse.api.training import Plan


def print_plan(plan: "Plan") -> None:
    """Print the parameters by part, then FLOPs, memory and time."""
    total = sum(plan.parameters.values())
    rows = [(part, f"{number:,}", f"{number / total:.1%}") for part, number in plan.parameters.items()]
    show(("part", "parameters", "share"), [*rows, ("total", f"{total:,}", "100%")], right=(1, 2))
    memory = ", ".join(f"{purpose} {size(amount)}" for purpose, amount in plan.memory.items())
    show(
        ("cost", "predicted", "details"),
        [
            ("steps", f"{plan.steps:,}", f"{count(plan.tokens)} training tokens"),
            ("FLOPs", flops(plan.flops), "counted: matrix products of training and evaluation"),
            ("memory", size(sum(plan.memory.values())), memory),
            (
                "time",
                duration(plan.seconds),
                f"{'measured' if plan.is_measured else 'estimated'}: {milliseconds(plan.step_seconds)} per step in "
                f"{plan.precision}{_threads(plan)}",
            ),
        ],
        right=(1,),
    )
    for note in (*filter(None, [plan.choice]), *plan.notes):
        console.print(note)


def milliseconds(seconds: float) -> str:
    """The time of a step: in milliseconds, unless it takes long."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 10 else duration(seconds)


def _threads(plan: "Plan") -> str:
    return f" on {plan.threads} threads" if plan.threads > 1 else " on 1 thread" if plan.threads else ""


def doctor(
    recipe: Annotated[str | None, argument("A recipe whose cost to predict.")] = None,
    overrides: Overrides = None,
    measure: Annotated[
        bool,
        option(
            "Time steps of RECIPE, or of demo-lm, in each number format and on several numbers of threads, and "
            "without what makes them fast here.",
            "--measure",
        ),
    ] = False,
    device: Device = "auto",
) -> None:
    """Describe this machine and measure its speed in matrix products. With RECIPE, predict memory, time and FLOPs of it.

    A rule chooses number format, threads and replicas, which the table shows. With --measure you see whether another format
    or number of threads is faster for a recipe.

    Examples:
        glasshouse doctor
        glasshouse doctor demo-lm model.width=512
        glasshouse doctor demo-lm --measure
    """
    from glasshouse.api import training

    if measure:
        words = [recipe or training.DEMO, *(overrides or ())]
        measurement = training.measure_steps(*words, device=device)
        best = measurement.fastest
        rows = [
            (
                one.text,
                milliseconds(one.seconds),
                f"{milliseconds(min(one.rounds))} to {milliseconds(max(one.rounds))}",
                "fastest" if one == best else "",
            )
            for one in measurement.times
        ]
        show((" ".join(words), "median", f"{len(best.rounds)} rounds", ""), rows, right=(1,))
        if measurement.without:
            console.print(measurement.without)
        threads = f" training.threads={best.threads}" if best.threads else ""
        console.print(f"to train with the fastest settings: training.precision={best.precision}{threads}")
        if measurement.was_busy:
            load = f"load {measurement.load:.1f}"
            console.print(f"warning: other processes were computing ({load}); measure again when the machine is idle")
        return
    show(("this machine", ""), [*training.doctor(device).items()])
    if recipe:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
