"""Prints the predicted cost of a training run, on this machine or on a cluster, and measured step times."""

from collections.abc import Callable

from glasshouse.api.machine import ClusterPlan, SpeedMeasurement
from glasshouse.api.training import Plan
from glasshouse.cli.tables import console, show
from glasshouse.formatting import MISSING, count, duration, flops, size


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


def print_measurement(measurement: SpeedMeasurement) -> None:
    """Print the step times of all settings and what training will use."""
    chosen = measurement.fastest()
    rows = [
        (
            one.settings,
            milliseconds(one.seconds),
            f"{milliseconds(min(one.rounds))} to {milliseconds(max(one.rounds))}",
            "chosen" if one == chosen else "",
        )
        for one in measurement.times
    ]
    show(
        (" ".join(measurement.words) or "step", "median", f"{len(measurement.times[0].rounds)} rounds", ""), rows, right=(1,)
    )
    if measurement.replicas:
        choice = "together" if measurement.replicas.is_faster else "one after another"
        console.print(f"seeds train {choice}: {measurement.replicas.text}", markup=False)
    for one in measurement.fast_paths:
        console.print(one.text, markup=False)
    if measurement.was_busy:
        console.print(
            f"warning: other processes were computing (load {measurement.load:.1f}); measure again when the machine is idle",
            markup=False,
        )


def _several(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


# How the kinds of parallelism are known elsewhere.
KINDS = {"single": "one GPU", "replicate": "replicate (DDP)", "shard": "shard (FSDP2)"}


def print_cluster_plan(plan: ClusterPlan) -> None:
    """Print what is trained on which cluster, the cost of each kind of parallelism, then assumptions and warnings."""
    hardware = plan.hardware
    nodes = f"{plan.nodes:,} x {plan.gpus_per_node} {hardware.gpu}, {hardware.gpu_memory_gb:g} GB each"
    micro = f" in {plan.micro_batches} micro-batches" if plan.micro_batches > 1 else ""
    speed = (
        f"{flops(plan.achieved_flops)}/s of each GPU, {plan.achieved_flops / hardware.peak_tflops / 1e12:.0%} of its peak"
    )
    show(
        (_several(plan.gpus, "GPU"), nodes),
        [
            ("model", f"{count(plan.parameters)} parameters, {plan.precision}"),
            ("batch", f"{_several(plan.batch, 'sequence')}, {count(plan.tokens)} tokens"),
            ("of each GPU", f"{_several(plan.rows * plan.micro_batches, 'sequence')}{micro}"),
            ("computing", f"{flops(plan.step_flops)} a step; {speed}, {'measured here' if plan.measured else 'assumed'}"),
        ],
    )
    options = list(plan.plans.values())
    purposes = list(dict.fromkeys(purpose for option in options for purpose in option.memory))
    rows = [
        (
            f"memory: {purpose}",
            *(size(option.memory[purpose]) if purpose in option.memory else MISSING for option in options),
        )
        for purpose in purposes
    ]
    rows += [
        (
            "memory of a GPU",
            *(size(sum(o.memory.values())) + ("" if o.fits else ", does not fit") for o in options),
        ),
        ("computing", *(duration(option.compute_seconds) for option in options)),
        ("communication", *(duration(option.communication_seconds) for option in options)),
        ("step", *(bounds(option.step_seconds, duration) for option in options)),
        ("waiting for others", *(bounds(option.communication_share, lambda share: f"{share:.0%}") for option in options)),
        ("tokens/s", *(bounds(option.tokens_per_second, count) for option in options)),
        ("GPU hours per 1 B tokens", *(bounds(o.gpu_hours_per_billion_tokens, short) for o in options)),
        (
            f"{plan.steps:,} steps" if plan.steps else "all steps: set training.steps",
            *(bounds(option.seconds, duration) for option in options),
        ),
    ]
    if hardware.price_per_gpu_hour:
        price = f"cost, {hardware.price_per_gpu_hour:g} a GPU hour"
        rows.append((price, *(bounds(option.cost, lambda cost: f"{cost:,.0f}") for option in options)))
    chosen = [KINDS[kind] + (", chosen" if kind == plan.chosen and len(plan.plans) > 1 else "") for kind in plan.plans]
    show(("predicted", *chosen), rows, right=range(1, 1 + len(options)))
    console.print("The prediction assumes:")
    for assumption in plan.assumptions:
        console.print(f"- {assumption}", markup=False)
    for warning in plan.warnings:
        console.print(f"warning: {warning}", markup=False)


def bounds(pair: tuple[float, float] | None, text: Callable[[float], str]) -> str:
    """Both bounds as text, or one if they read the same."""
    if pair is None:
        return MISSING
    low, high = (text(value) for value in pair)
    return low if low == high else f"{low} to {high}"


def short(value: float) -> str:
    """A number of hours with one decimal, or none if it is large."""
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
