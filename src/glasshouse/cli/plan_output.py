"""Prints the predicted cost of a training run, and measured step times."""

from glasshouse.api.machine import SpeedMeasurement
from glasshouse.api.training import Plan
from glasshouse.cli.tables import console, show
from glasshouse.formatting import count, duration, flops, size


def print_plan(plan: Plan) -> None:
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
        console.print(note, markup=False)


def milliseconds(seconds: float) -> str:
    """The time of a step: in milliseconds, unless it takes long."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 10 else duration(seconds)


def _threads(plan: Plan) -> str:
    return f" on {plan.threads} threads" if plan.threads > 1 else " on 1 thread" if plan.threads else ""


def print_measurement(measurement: SpeedMeasurement, recipe: str) -> None:
    """Print the step times of all settings, and the fastest as words of a command."""
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
    show((recipe, "median", f"{len(best.rounds)} rounds", ""), rows, right=(1,))
    if measurement.without:
        console.print(measurement.without, markup=False)
    threads = f" training.threads={best.threads}" if best.threads else ""
    console.print(f"to train with the fastest settings: training.precision={best.precision}{threads}", markup=False)
    if measurement.was_busy:
        console.print(
            f"warning: other processes were computing (load {measurement.load:.1f}); measure again when the machine is idle",
            markup=False,
        )
