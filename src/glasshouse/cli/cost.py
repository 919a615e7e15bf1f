"""How a cost plan is printed."""

from glasshouse import Plan
from glasshouse.cli.tables import console, show
from glasshouse.formatting import count, duration, flops, size


def print_plan(plan: Plan) -> None:
    """Parameters by part, then FLOPs, memory and time."""
    total = sum(plan.parameters.values())
    rows = [(part, f"{number:,}", f"{number / total:.1%}") for part, number in plan.parameters.items()]
    show(("part", "parameters", "share"), [*rows, ("all", f"{total:,}", "100%")], right=(1, 2))
    memory = ", ".join(f"{purpose} {size(amount)}" for purpose, amount in plan.memory.items())
    show(
        ("cost", "predicted", "how"),
        [
            ("steps", f"{plan.steps:,}", f"{count(plan.tokens)} tokens seen"),
            ("FLOPs", flops(plan.flops), "counted: matrix products, training and evaluation"),
            ("memory", size(sum(plan.memory.values())), memory),
            (
                "time",
                duration(plan.seconds),
                f"measured: {plan.step_seconds * 1e3:.1f} ms a step in {plan.precision}{_threads(plan)}",
            ),
        ],
        right=(1,),
    )
    for note in plan.notes:
        console.print(note, markup=False)


def _threads(plan: Plan) -> str:
    return f" on {plan.threads} threads" if plan.threads > 1 else " on 1 thread" if plan.threads else ""
