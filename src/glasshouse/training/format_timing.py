"""Time the steps of a job, alone and as replicas, in each number format and on several numbers of CPU threads.

The result is kept for later choices.

A machine becomes slower and faster over seconds. So all settings are timed in every round, every other round reverses their
order, and the median over the rounds counts. The model is built anew in each round, because where it lies in memory changes
its speed too.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from glasshouse.records.progress_bar import say
from glasshouse.training import (
    compute_rule,
    cost_plan,
    devices,
    fast_paths,
    kept_measurements,
    precision,
    replica_count,
    replicas,
)
from glasshouse.training.job import Job
from glasshouse.training.kept_measurements import SpeedMeasurement, TimedReplicas, TimedSettings, TimedWithout
from glasshouse.training.precision import BY_PRECISION
from glasshouse.training.replicas import Replicas

ROUNDS = 7
# A step of replicas takes as long as that of several runs, so there are fewer of both.
REPLICAS, REPLICA_ROUNDS = 8, 3


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
    measurement = SpeedMeasurement(
        machine=kept_measurements.machine_of(job.device),
        shape=kept_measurements.shape_of(job),
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        words=tuple(words),
        load=load,
        times=tuple(TimedSettings(*settings, tuple(rounds[settings])) for settings in rounds if settings[0] in formats),
    )
    fastest = measurement.fastest()
    if fastest is None:
        return measurement
    return replace(
        measurement,
        replicas=_time_replicas(timing, fastest, show),
        fast_paths=tuple(_time_fast_paths(timing, fastest, show)),
    )


def _time_fast_paths(job: Job, settings: TimedSettings, show: Callable[[float, str], None]) -> Iterator[TimedWithout]:
    """The step times with and without each fast path, in turn."""
    variants = fast_paths.without(job, settings.precision)
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in variants}
    for number in range(ROUNDS):
        show(number / ROUNDS, "measuring without fast paths")
        for name in times:
            other, context = fast_paths.without(job, settings.precision)[name]
            with devices.threads(settings.threads):
                times[name][1].append(cost_plan.step_seconds(job.engine(settings.precision), job.device))
                with context:
                    times[name][0].append(cost_plan.step_seconds(other.engine(settings.precision), job.device))
    for name, (slow, fast) in times.items():
        yield TimedWithout(name, tuple(slow), tuple(fast))


def _time_replicas(job: Job, settings: TimedSettings, show: Callable[[float, str], None]) -> TimedReplicas | None:
    """The step times of a few replicas and of one run alone, in turn; None if these runs cannot be replicas."""
    training = replace(job.spec.training, precision=settings.precision, threads=settings.threads)
    job = replace(job, spec=replace(job.spec, training=training))
    count = min(REPLICAS, replica_count.max_replicas(job, replica_count.predicted_memory(job)))
    if count < 2 or replicas.obstacle(job.spec):
        return None
    together, alone = list[float](), list[float]()
    for number in range(REPLICA_ROUNDS):
        show(number / REPLICA_ROUNDS, "measuring replicas")
        try:
            with devices.threads(settings.threads):
                alone.append(cost_plan.step_seconds(job.engine(), job.device))
                group = Replicas([job.with_seed(seed) for seed in range(count)])
                together.append(cost_plan.step_seconds(group, job.device) / count)
        except (RuntimeError, NotImplementedError) as error:
            say(f"these runs cannot be replicas ({str(error).splitlines()[0]})")
            return None
    return TimedReplicas(settings.precision, settings.threads, count, tuple(together), tuple(alone))


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
