"""Public functions that describe this machine and time training steps on it."""

from typing import Any

from glasshouse.formatting import flops
from glasshouse.records import machine, progress_bar
from glasshouse.runs.resolve_spec import spec_of
from glasshouse.specs.recipes import DEMO
from glasshouse.training import compute_choice, devices, format_timing, replica_count
from glasshouse.training.format_timing import SpeedMeasurement
from glasshouse.training.job import Job


def doctor(device: str = "auto") -> dict[str, str]:
    """Describe this machine, and measure the speed of its matrix products."""
    chosen = devices.pick(device)
    size = 512 if chosen.type == "cpu" else 8192
    facts = machine.describe(str(chosen)) | {
        "number format by rule": compute_choice.precisions_text(chosen),
        "several seeds by rule": replica_count.rule_text(chosen),
    }
    if chosen.type == "cpu":
        facts["threads by rule"] = compute_choice.threads_text()
    facts |= format_timing.fast_paths(chosen)
    for name in devices.MATMUL_FORMATS:
        facts[f"matrix products, {name}"] = f"{flops(devices.matmul_flop_rate(chosen, name, size))}/s"
    return facts


def measure_steps(recipe: str = DEMO, *overrides: str, device: str = "auto", **sections: dict[str, Any]) -> SpeedMeasurement:
    """Time the training steps of a recipe in each number format and on several numbers of CPU threads, and without what
    makes them fast here. Nothing is kept: `training.precision` and `training.threads` set what was fastest."""
    job = Job.prepare(spec_of(recipe, *overrides, **sections), devices.pick(device))
    with progress_bar.bar("measuring", outer=True) as show, progress_bar.quiet():
        return format_timing.measure(job, show)
