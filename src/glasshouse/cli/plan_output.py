"""Prints the predicted cost of a training run."""

from glasshouse import Plan
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
                f"measured: {plan.step_seconds * 1e3:.1f} ms per step in {plan.precision}{_threads(plan)}",
            ),
        ],
        right=(1,),
    )
    for note in plan.notes:
        console.print(note, markup=False)


def _threads(plan: Plan) -> str:
    return f" on {plan.threads} threads" if plan.threads > 1 else " on 1 thread" if plan.threads else ""
