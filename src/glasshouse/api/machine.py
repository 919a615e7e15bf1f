"""Public functions that describe this machine and time training steps on it."""

from dataclasses import dataclass
from typing import Any

import torch

from glasshouse.records import machine, progress_bar
from glasshouse.runs.resolve_spec import spec_of
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.recipes import DEMO
from glasshouse.specs.spec import Spec
from glasshouse.training import (
    compute_choice,
    devices,
    format_timing,
    kept_measurements,
    replica_count,
)
from glasshouse.training.job import Job
from glasshouse.training.kept_measurements import SpeedMeasurement


@dataclass(frozen=True)
class Diagnosis:
    """A description of this machine (`facts`), and the FLOP/s of its matrix products by number format (`rates`).

    `measurements` are the step times that `measure_steps` has kept for this machine.
    """

    facts: dict[str, str]
    rates: dict[str, float]
    measurements: tuple[SpeedMeasurement, ...] = ()


def doctor(device: str = "auto") -> Diagnosis:
    """Describe this machine and measure the speed of its matrix products."""
    chosen = devices.pick(device)
    size = 512 if chosen.type == "cpu" else 8192
    rates = {name: devices.matmul_flop_rate(chosen, name, size) for name in devices.MATMUL_FORMATS}
    facts = machine.describe(str(chosen)) | {
        "number format by rule": compute_choice.precisions_text(chosen),
        "several seeds by rule": replica_count.rule_text(chosen),
    }
    if chosen.type == "cpu":
        facts["threads by rule"] = compute_choice.threads_text()
    facts |= format_timing.fast_paths(chosen)
    return Diagnosis(facts, rates, tuple(kept_measurements.of_machine(chosen)))


def measure_steps(
    recipe: str = "", *overrides: str, device: str = "auto", **sections: dict[str, Any]
) -> list[SpeedMeasurement]:
    """Time the training steps of a recipe in each number format and on several numbers of CPU threads, and keep the result.

    From then on `training.precision=auto` and `training.threads=0` choose by it, here and for this shape of steps, and so do
    several seeds that train together or one after another.
    Without a recipe, everything that was measured on this machine is measured again, or else the demo.
    """
    chosen = devices.pick(device)
    if recipe:
        return [_measure_spec(spec_of(recipe, *overrides, **sections), () if sections else (recipe, *overrides), chosen)]
    renewed = []
    for words in [kept.words for kept in kept_measurements.of_machine(chosen) if kept.words]:
        try:
            renewed.append(_measure_spec(spec_of(*words), words, chosen))
        except GlasshouseError as error:
            progress_bar.say(f"{' '.join(words)} cannot be measured again: {error}")
    return renewed or [_measure_spec(spec_of(DEMO), (DEMO,), chosen)]


def _measure_spec(spec: Spec, words: tuple[str, ...], device: torch.device) -> SpeedMeasurement:
    job = Job.prepare(spec, device)
    with progress_bar.bar("measuring", outer=True) as show, progress_bar.quiet():
        measurement = format_timing.measure(job, words, show)
    kept_measurements.keep(measurement)
    return measurement
