"""Time the steps of a job in each number format and on several numbers of CPU threads, to be kept for later choices.

A machine becomes slower and faster over seconds. So all settings are timed in every round, every other round reverses their
order, and the median over the rounds counts. The model is built anew in each round, because where it lies in memory changes
its speed too.
"""

import os
import time
from collections.abc import Callable, Sequence

import torch

from glasshouse.records.progress_bar import say
from glasshouse.training import compute_rule, cost_plan, devices, kept_measurements, precision
from glasshouse.training.job import Job
from glasshouse.training.kept_measurements import SpeedMeasurement, TimedSettings
from glasshouse.training.precision import BY_PRECISION

ROUNDS = 7


def measure(
    job: Job, words: Sequence[str] = (), show: Callable[[float, str], None] = lambda share, what: None
) -> SpeedMeasurement:
    """The step times of a job on this machine. Trains nothing and keeps nothing."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    formats, counts = formats_of(job.device), thread_counts(job.device)
    timing = cost_plan.timing_job(job)
    rounds: dict[tuple[str, int], list[float]] = {(name, count): [] for name in formats for count in counts}
    for number in range(ROUNDS):
        backwards = slice(None, None, -1 if number % 2 else 1)
        for name in list(formats)[backwards]:
            show(number / ROUNDS, f"measuring {name}")
            try:
                engine = timing.engine(name)
                for count in counts[backwards]:
                    with devices.threads(count):
                        rounds[name, count].append(cost_plan.step_seconds(engine, job.device))
            except RuntimeError as error:
                if name == "fp32" or not precision.is_unsupported(error):
                    raise
                say(f"this machine cannot compute a step in {name} ({error})")
                formats.remove(name)
    return SpeedMeasurement(
        machine=kept_measurements.machine_of(job.device),
        shape=kept_measurements.shape_of(job),
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        words=tuple(words),
        load=load,
        times=tuple(TimedSettings(*settings, tuple(rounds[settings])) for settings in rounds if settings[0] in formats),
    )


def formats_of(device: torch.device) -> list[str]:
    """The number formats that are worth timing on a device."""
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= compute_rule.AMPERE:
        return list(BY_PRECISION)
    return ["fp32", "bf16"] if device.type == "cpu" and compute_rule.times_bf16() else ["fp32"]


def thread_counts(device: torch.device) -> list[int]:
    """The numbers of threads that are timed: powers of two, and all threads. Other devices than a CPU have only 0."""
    available = compute_rule.available_threads()
    powers = [2**power for power in range(available.bit_length()) if 2**power < available]
    return [*powers, available] if device.type == "cpu" else [0]
